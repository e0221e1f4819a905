#!/bin/sh
# Runs a program whose denied calls are decided one by one by answer.sh.
set -eu

cd "$(dirname "$0")"
callgate=${CALLGATE:-$(command -v ../../build/callgate || echo callgate)}
results=$(mktemp -d)
mkdir -m 700 "$results/questions"
./answer.sh "$results/questions" &
trap 'kill $!; rm -rf "$results"' EXIT

"$callgate" run -p policy.json --ask "$results/questions" --audit "$results/log" -- /bin/sh -c '
	cat /etc/debian_version && echo "read: /etc/debian_version"
	ls /var/log || echo "denied: /var/log"'
grep -o '"answer":"[a-z]*"' "$results/log" | sort | uniq -c
