#!/bin/sh
# Finds out what a policy does to a program, and what another policy would change.
set -eu

cd "$(dirname "$0")"
callgate=${CALLGATE:-$(command -v ../../build/callgate || echo callgate)}
results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT
mkdir "$results/work"
cp report.sh "$results/work/"
echo "a draft" >"$results/work/draft.txt"

echo "== is the policy written as policy fmt would write it?"
"$callgate" policy fmt --check policy.json wider.json && echo "yes"

echo "== what would it deny? Nothing is denied yet"
"$callgate" run --mode observe -p policy.json -w "$results/work" --audit "$results/log" -- /bin/sh report.sh
"$callgate" audit show --denied "$results/log" | grep -v '/proc/' | cut -c 1-120

echo "== why?"
"$callgate" why -p policy.json -w "$results/work" --open "$results/work/draft.txt" || :

echo "== what would it change? Nothing is changed yet"
rm -f "$results/work/report.txt"
"$callgate" run --dry-run --json -p policy.json -w "$results/work" -- /bin/sh report.sh >"$results/dry"
grep -o '"kind": *"[a-z]*"' "$results/dry" | head -n 1
[ ! -e "$results/work/report.txt" ] && echo "not there: report.txt"

echo "== where do runs under two policies part?"
"$callgate" compare -p policy.json -p wider.json -w "$results/work" -- /bin/sh report.sh || [ $? = 1 ]
