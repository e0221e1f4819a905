#!/bin/bash
# Runs quickstart.py against a server of its own.
set -eu
cd "$(dirname "$0")"
python=${PYTHON:-python3} package=e2b_code_interpreter
"$python" -c "from importlib.util import find_spec; raise SystemExit(find_spec('$package') is None)" || {
	echo "examples/e2b: $python has no package $package: pip install e2b-code-interpreter" >&2
	exit 1
}
callgate=${CALLGATE:-$(command -v ../../build/callgate || echo callgate)}
work=$(mktemp -d)
mkdir -p logs
(umask 077 && echo "e2b_$(od -An -tx1 -N20 /dev/urandom | tr -d ' \n')" >"$work/key")
"$callgate" serve --key-file "$work/key" --port-file "$work/port" --audit-dir "$PWD/logs" 2>"$work/log" &
trap 'kill $! 2>/dev/null || :; rm -rf "$work"' EXIT
until [ -s "$work/port" ]; do
	kill -0 $! 2>/dev/null || { cat "$work/log" >&2; exit 1; }
	sleep 0.1
done
export E2B_API_KEY E2B_API_URL E2B_SANDBOX_URL
E2B_API_KEY=$(cat "$work/key")
E2B_API_URL=http://127.0.0.1:$(cat "$work/port")
E2B_SANDBOX_URL=$E2B_API_URL
"$python" quickstart.py
