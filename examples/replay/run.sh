#!/bin/sh
# Records a run, judges it by a stricter policy, and minimises the policy it ran under.
set -eu

cd "$(dirname "$0")"
callgate=${CALLGATE:-$(command -v ../../build/callgate || echo callgate)}
results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT

echo "== the run"
"$callgate" run -p policy.json --audit "$results/log" -- \
	/bin/sh -c 'ls /usr/share/common-licenses >licenses; wc -l <licenses; cat /etc/host.conf'

echo "== under a stricter policy"
"$callgate" replay -p stricter.json "$results/log"
if "$callgate" replay -p stricter.json --fail-on denied "$results/log" >"$results/report"; then
	echo "the stricter policy denies nothing" >&2
	exit 1
fi

echo "== what the run needed"
"$callgate" policy minimise -o "$results/small.json" policy.json "$results/log" 2>&1
cat "$results/small.json"
"$callgate" replay -p "$results/small.json" --fail-on denied "$results/log" >/dev/null
"$callgate" run -p "$results/small.json" -- \
	/bin/sh -c 'ls /usr/share/common-licenses >licenses; wc -l <licenses; cat /etc/host.conf' >"$results/again"
echo "runs under the small policy: $(head -n 1 "$results/again") licenses"
