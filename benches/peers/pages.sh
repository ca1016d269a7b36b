#!/bin/sh
# Pages of the container and of general stores, the same URLs and sizes, one store after the other, as a table.
#
#     benches/peers/pages.sh PAGES [DIRECTORY [cold]]
#
# PAGES may end in k or M. The stores work below DIRECTORY (default: $TMPDIR or /tmp), which must have room: about 1.5 KiB
# a page, for one store at a time. With `cold` (root only) gets are measured with the kernel's caches dropped as well,
# which everybody else on the machine feels.
#
# The peers are those whose headers are there. On Debian:
#     apt-get install gcc libsqlite3-dev liblmdb-dev librocksdb-dev
#
# Ratios above 1 favour the container: its puts a second over the peer's, the peer's CPU a put and seconds for 10,000
# gets over its own. A get of the container decompresses, checks and parses a WARC record; one of a peer copies bytes.
set -eu

usage() {
    echo "usage: $0 PAGES [DIRECTORY [cold]]" >&2
    exit 2
}

case $# in
1 | 2 | 3) ;;
*) usage ;;
esac
case $1 in
*k) pages=${1%k}000 ;;
*M) pages=${1%M}000000 ;;
*) pages=$1 ;;
esac
case $pages in
'' | *[!0-9]*) usage ;;
esac
directory=$(cd "${2:-${TMPDIR:-/tmp}}" && pwd)
cold=${3:-}
case $cold in
'' | cold) ;;
*) usage ;;
esac

cd "$(dirname "$0")/../.."
target=${CARGO_TARGET_DIR:-target}/peers
mkdir -p "$target"
cc=${CC:-cc}

# has_header HEADER: whether the compiler finds it
has_header() {
    echo "#include <$1>" | "$cc" -E -x c - >/dev/null 2>&1
}

# add_peer NAME HEADER MACRO LIBRARY PACKAGE: compiles it in, or says what is missing
add_peer() {
    if has_header "$2"; then
        peers="$peers $1"
        macros="$macros -D$3"
        libraries="$libraries -l$4"
    else
        echo "left out: $1, whose header $2 is missing (Debian: $5)" >&2
    fi
}

peers='' macros='' libraries=''
add_peer sqlite sqlite3.h WITH_SQLITE sqlite3 libsqlite3-dev
add_peer lmdb lmdb.h WITH_LMDB lmdb liblmdb-dev
add_peer rocksdb rocksdb/c.h WITH_ROCKSDB rocksdb librocksdb-dev
# shellcheck disable=SC2086 # lists of words
"$cc" -std=c11 -O2 $macros benches/peers/pages.c -o "$target/pages" $libraries

results=$target/pages-results.txt
scratch=''
trap '[ -z "$scratch" ] || rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM

echo "running: container" >&2
# shellcheck disable=SC2086 # a word or nothing
cargo bench --bench container -- "$pages" "$directory" $cold >"$target/container.txt"
grep '^container pages=' "$target/container.txt" >"$results" || {
    echo "the bench printed no line of figures: see $target/container.txt" >&2
    exit 1
}
value_bytes=$(sed -n 's/.* value_bytes=\([0-9]*\).*/\1/p' "$results")
for peer in $peers; do
    echo "running: $peer" >&2
    scratch=$(mktemp -d "$directory/pages-$peer.XXXXXX")
    # shellcheck disable=SC2086 # a word or nothing
    "$target/pages" "$peer" "$pages" "$value_bytes" "$scratch" $cold >>"$results"
    rm -rf "$scratch"
    scratch=''
done

awk '
    {
        delete value
        for (i = 2; i <= NF; i++) { split($i, pair, "="); value[pair[1]] = pair[2] }
        puts = value["pages"] / value["seconds"]
        cpu = value["cpu_seconds"] * 1e6 / value["pages"]
        gets = value["warm_seconds"]
        if (NR == 1) {
            print value["pages"] " pages of " value["value_bytes"] " bytes, 10,000 gets"
            printf "%-9s %9s %10s %8s %8s %9s %9s %8s %9s %9s %9s\n", "store", "puts/s", "CPU us/put", "RSS MB",
                "disk MB", "warm s", "99 % us", "cold s", "put ratio", "CPU ratio", "get ratio"
            own_puts = puts; own_cpu = cpu; own_gets = gets
        }
        printf "%-9s %9.0f %10.2f %8d %8d %9.4f %9.1f %8s %9.1f %9.1f %9.1f\n", $1, puts, cpu, value["peak_rss_mb"],
            value["disk_mb"], gets, value["warm_p99_us"], value["cold_seconds"], own_puts / puts, cpu / own_cpu,
            gets / own_gets
    }
' "$results"
