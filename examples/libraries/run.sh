#!/bin/sh
# Prints what the set @analysis comes to here, what a program can import under it, and what would show the rest.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
callgate=${CALLGATE:-$(command -v "$here/../../build/callgate" || echo callgate)}
"$callgate" libraries --python /usr/bin/python3 -p "$here/policy.json"
"$callgate" run --json -p "$here/policy.json" --input "$here/imports.py" -- /usr/bin/python3 imports.py |
	jq -r '.stdout, (.libraries[] | "looked for in vain: \(.missing | join(", ")); to allow: \(.suggest)")'
