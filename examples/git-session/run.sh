#!/bin/sh
# A git session in a fresh workdir; its history is kept as log.txt in OUT (default: ./out).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
callgate=${CALLGATE:-$(command -v "$here/../../build/callgate" || echo callgate)}
exec "$callgate" run -p "$here/policy.json" --input "$here/session.sh" \
	--output "${1:-out}" --artifact log.txt -- /bin/sh session.sh
