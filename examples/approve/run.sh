#!/bin/sh
# Runs a program whose denied calls are decided by approver.py, at a socket.
set -eu

cd "$(dirname "$0")"
callgate=${CALLGATE:-$(command -v ../../build/callgate || echo callgate)}
results=$(mktemp -d)
python3 approver.py "$results/socket" /etc 2>"$results/shown" &
trap 'kill $! 2>/dev/null || true; rm -rf "$results"' EXIT
until [ -S "$results/socket" ]; do sleep 0.05; done

"$callgate" run -p policy.json --approve "socket:$results/socket" --audit "$results/log" -- /bin/sh -c '
	cat /etc/debian_version >/dev/null && cat /etc/debian_version >/dev/null && echo "read: /etc/debian_version"
	ls /var/log || echo "denied: /var/log"'
cat "$results/shown"
grep -o '"answer":"[a-z]*"' "$results/log" | sort | uniq -c
