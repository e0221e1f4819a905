#!/bin/sh
# A node program with a child of its own in a fresh workdir; keeps report.json in OUT (default: ./out).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
callgate=${CALLGATE:-$(command -v "$here/../../build/callgate" || echo callgate)}
node=$(command -v node) || {
	echo "$0: node is not installed" >&2
	exit 127
}
exec "$callgate" run -p "$here/policy.json" --input "$here/walk.js" --input "$here/sum.js" \
	--output "${1:-out}" -- "$node" walk.js
