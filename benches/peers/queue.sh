#!/bin/sh
# The queue of URLs of the frontier and of Berkeley DB (the way of Heritrix) on the same URLs, one after the other, as a table.
#
#     benches/peers/queue.sh URLS [spread|giant [DIRECTORY]]
#
# URLS may end in k or M; `spread` (the default) lays them over a million hosts, `giant` on one. The stores work below
# DIRECTORY (default: $TMPDIR or /tmp), which must have room: about 350 bytes a URL for Berkeley DB.
#
# Needs a C compiler and db.h. On Debian:
#     apt-get install gcc libdb5.3-dev
#
# Ratios above 1 favour the frontier: its URLs a second over the peer's, the peer's CPU, disk and memory over its own.
set -eu

usage() {
    echo "usage: $0 URLS [spread|giant [DIRECTORY]]" >&2
    exit 2
}

case $# in
1 | 2 | 3) ;;
*) usage ;;
esac
case $1 in
*k) urls=${1%k}000 ;;
*M) urls=${1%M}000000 ;;
*) urls=$1 ;;
esac
case $urls in
'' | *[!0-9]*) usage ;;
esac
shape=${2:-spread}
case $shape in
spread) hosts=1000000 ;;
giant) hosts=1 ;;
*) usage ;;
esac
directory=$(cd "${3:-${TMPDIR:-/tmp}}" && pwd)

cd "$(dirname "$0")/../.."
target=${CARGO_TARGET_DIR:-target}/peers
mkdir -p "$target"
"${CC:-cc}" -std=c11 -O2 benches/peers/queue.c -o "$target/queue" -ldb

scratch=''
trap '[ -z "$scratch" ] || rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM

echo "running: frontier" >&2
cargo bench --bench frontier -- "$urls" "$shape" "$directory" >"$target/frontier.txt"
echo "running: bdb" >&2
scratch=$(mktemp -d "$directory/queue-bdb.XXXXXX")
"$target/queue" "$urls" "$hosts" "$scratch" >"$target/bdb.txt"

# The last row of the bench: URLs, shape, in k/s, out k/s, CPU in, out, generator, disk, written, RSS, ...
awk -v urls="$urls" -v shape="$shape" '
    FNR == NR {
        if (split($0, cell, "|") > 11 && cell[2] + 0 == urls) {
            found = 1
            ours["in"] = cell[4] * 1000; ours["out"] = cell[5] * 1000
            ours["in_cpu"] = cell[6]; ours["out_cpu"] = cell[7]; ours["disk"] = cell[9]; ours["rss"] = cell[11]
        }
        next
    }
    {
        for (i = 2; i <= NF; i++) { split($i, pair, "="); value[pair[1]] = pair[2] }
    }
    function row(name, in_speed, out_speed, in_cpu, out_cpu, disk, rss) {
        printf "%-9s %10.0f %10.0f %9.2f %9.2f %11.1f %8.0f\n", name, in_speed, out_speed, in_cpu, out_cpu, disk, rss
    }
    function ratio(a, b) { return b > 0 ? a / b : 0 }
    END {
        if (!found) { print "the bench printed no row" > "/dev/stderr"; exit 1 }
        peer_in = ratio(urls, value["in_seconds"]); peer_out = ratio(urls, value["out_seconds"])
        print urls " URLs, " shape
        printf "%-9s %10s %10s %9s %9s %11s %8s\n", "store", "in URLs/s", "out URLs/s", "CPU us in", "out", "disk B/URL", "RSS MB"
        row("frontier", ours["in"], ours["out"], ours["in_cpu"], ours["out_cpu"], ours["disk"], ours["rss"])
        row("bdb", peer_in, peer_out, value["in_cpu"], value["out_cpu"], value["disk_bytes"], value["rss_mb"])
        printf "ratio: in %.1f, out %.1f, CPU of the whole way %.1f, disk %.1f, RSS %.1f\n", ratio(ours["in"], peer_in),
            ratio(ours["out"], peer_out),
            ratio(value["in_cpu"] + value["out_cpu"], ours["in_cpu"] + ours["out_cpu"]),
            ratio(value["disk_bytes"], ours["disk"]), ratio(value["rss_mb"], ours["rss"])
    }
' "$target/frontier.txt" "$target/bdb.txt"
