#!/bin/sh
# Checks a WACZ file with the tools of others: `wacz validate` (py-wacz), then ReplayWeb.page in headless Chromium.
#
#     benches/wacz/run.sh FILE.wacz [URL...]
#
# The URLs (the main page of the file without any) are opened from the file, with no network but loopback; one JSON line
# tells what each shows. The screenshot of the first is FILE.png. Packages are installed into TOOLS (/tmp/wacz-tools).
set -eu
[ $# -gt 0 ] || { sed -n '2,8s/^# \{0,1\}//p' "$0"; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
tools=${TOOLS:-/tmp/wacz-tools}
file=$1
shift
mkdir -p "$tools"
[ -x "$tools/python/bin/wacz" ] || { python3 -m venv "$tools/python"; "$tools/python/bin/pip" install -q wacz; }
[ -d "$tools/node_modules/replaywebpage" ] || {
    cp "$here/package.json" "$tools/"
    (cd "$tools" && npm install --silent --ignore-scripts)
}
cp "$here/replaywebpage.js" "$tools/"
"$tools/python/bin/wacz" validate -f "$file"
main='import json, sys, zipfile as z; print(json.loads(z.ZipFile(sys.argv[1]).read("datapackage.json"))["mainPageUrl"])'
[ $# -gt 0 ] || set -- "$(python3 -c "$main" "$file")"
node "$tools/replaywebpage.js" "$file" "${file%.wacz}.png" "$@"
