#!/bin/sh
# Runs a script twice, the second time changed, and reads the logs.
set -eu

out=${1:?usage: run.sh OUT}
mkdir -p "$out"
out=$(cd "$out" && pwd)
cd "$(dirname "$0")"
callgate=${CALLGATE:-$(command -v ../../build/callgate || echo callgate)}
results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT

for version in old new; do
	mkdir "$results/$version"
	cp job.sh "$results/$version"
	"$callgate" run -q -p policy.json -w "$results/$version" --audit "$results/$version.log" -- \
		/bin/sh job.sh "$version"
done

echo "== what was denied"
"$callgate" audit show --denied "$results/new.log"
echo "== which process started which"
"$callgate" audit show --tree "$results/new.log"
echo "== counts, what would allow the denials, rules that were never used"
"$callgate" audit stats -p policy.json "$results/new.log"
echo "== what the new version does beyond the old one"
if "$callgate" audit diff "$results/old.log" "$results/new.log" >"$results/diff"; then
	echo "nothing" && exit 1
fi
grep '^[-+] \(denied\|program\)' "$results/diff"
echo "new paths: $(grep -c '^+ read' "$results/diff")"

echo "== both runs in a database"
"$callgate" audit export --format sqlite -o "$out/runs.sqlite" "$results/old.log" "$results/new.log"
"$callgate" audit export --format perfetto -o "$out/trace.json" "$results/old.log" "$results/new.log"
sqlite3 "$out/runs.sqlite" "
	SELECT 'records: ' || count(*) FROM records;
	SELECT 'denied: ' || object || ' ' || times FROM denials;
	SELECT 'slowest: ' || (max(ns) / 1000) || ' us' FROM records;"
