#!/bin/sh
# URL-seen of the DRUM and of general stores on the same operations, one after the other, as a table.
#
#     benches/peers/seen.sh OPERATIONS [DIRECTORY [SECONDS]]
#
# OPERATIONS may end in k or M. The stores work below DIRECTORY (default: $TMPDIR or /tmp), which must have room: about
# 30 bytes a key for LMDB. SECONDS (default 0: no limit) stops a peer early; its row is then marked with a star and
# covers fewer operations. The DRUM always runs to the end.
#
# The peers are those whose headers are there. On Debian:
#     apt-get install gcc libdb5.3-dev liblmdb-dev librocksdb-dev
#
# Ratios above 1 favour the DRUM: its operations a second over the peer's, the peer's CPU an operation over its own.
# Ends with 1 if the stores do not agree about what was new.
set -eu

usage() {
    echo "usage: $0 OPERATIONS [DIRECTORY [SECONDS]]" >&2
    exit 2
}

case $# in
1 | 2 | 3) ;;
*) usage ;;
esac
case $1 in
*k) operations=${1%k}000 ;;
*M) operations=${1%M}000000 ;;
*) operations=$1 ;;
esac
case $operations in
'' | *[!0-9]*) usage ;;
esac
directory=$(cd "${2:-${TMPDIR:-/tmp}}" && pwd)
seconds=${3:-0}

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
add_peer bdb db.h WITH_BDB db libdb5.3-dev
add_peer lmdb lmdb.h WITH_LMDB lmdb liblmdb-dev
add_peer rocksdb rocksdb/c.h WITH_ROCKSDB rocksdb librocksdb-dev
# shellcheck disable=SC2086 # lists of words
"$cc" -std=c11 -O2 $macros benches/peers/seen.c -o "$target/seen" $libraries

results=$target/seen.txt
scratch=''
trap '[ -z "$scratch" ] || rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM

echo "running: drum" >&2
cargo bench --bench drum -- "$operations" "$directory" >"$target/drum.txt"
grep '^drum operations=' "$target/drum.txt" >"$results" || {
    echo "the bench printed no line of figures: see $target/drum.txt" >&2
    exit 1
}
for peer in $peers; do
    echo "running: $peer" >&2
    scratch=$(mktemp -d "$directory/seen-$peer.XXXXXX")
    "$target/seen" "$peer" "$operations" "$scratch" "$seconds" >>"$results"
    rm -rf "$scratch"
    scratch=''
done

awk -v wanted="$operations" '
    {
        for (i = 2; i <= NF; i++) { split($i, pair, "="); value[pair[1]] = pair[2] }
        operations = value["operations"]
        speed = operations / value["seconds"]
        cpu = value["cpu_seconds"] / operations
        found = value["unique"] " new, " value["duplicate"] " known"
        if (NR == 1) {
            print wanted " operations; " found
            printf "%-9s %12s %10s %8s %9s %9s %12s %12s\n", "store", "operations/s", "seconds", "CPU s",
                "RSS MB", "disk MB", "wall ratio", "CPU ratio"
            drum_speed = speed; drum_cpu = cpu; drum_found = found
        }
        short = operations < wanted ? "*" : ""
        printf "%-9s %12.0f %10.1f %8.1f %9d %9d %12.1f %12.1f\n", $1 short, speed, value["seconds"],
            value["cpu_seconds"], value["peak_rss_mb"], value["disk_mb"], drum_speed / speed, cpu / drum_cpu
        if (short != "") stopped = stopped "* " $1 " was stopped after " operations " operations\n"
        else if (found != drum_found) wrong = wrong $1 " disagrees: " found "\n"
    }
    END {
        printf "%s%s", stopped, wrong
        exit wrong != ""
    }
' "$results"
