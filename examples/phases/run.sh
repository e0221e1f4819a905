#!/bin/sh
# Installs a package, then runs job.py without a network, and keeps its report in OUT (default: ./out).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
callgate=${CALLGATE:-$(command -v "$here/../../build/callgate" || echo callgate)}
told=$(mktemp)
/usr/bin/python3 "$here/index.py" >"$told" &
index=$!
trap 'kill $index; rm -f "$told"' EXIT
until [ -s "$told" ]; do
	kill -0 $index # it may have failed
	sleep 0.1
done
port=$(cat "$told")
"$callgate" run -p "$here/policy.json" --input "$here/job.py" --output "${1:-out}" \
	--allow-host "127.0.0.1:$port" \
	--setup "/usr/bin/python3 -m pip install --quiet \
		--root-user-action=ignore --disable-pip-version-check --no-cache-dir \
		--target lib --index-url http://127.0.0.1:$port/simple tally" -- /usr/bin/python3 job.py "$port"
