#!/bin/bash
# Runs the commands of doc/experiments.md literally, in a copy of examples/experiment.
. "$(dirname "$0")/../lib.sh"
mkdir "$T/bin"
ln -s "$CALLGATE" "$T/bin/callgate"
cp -r "$SRC/examples/experiment" "$T/dir"
chmod -R u+w "$T/dir"
# joins continued lines, drops the prompt
sed -n '/^    /p' "$SRC/doc/experiments.md" | sed -e :a -e '/\\$/N; s/\\\n *//; ta' |
	sed -n 's/^    \$ //p' >"$T/commands"
[ "$(wc -l <"$T/commands")" -ge 8 ] || die "found only: $(cat "$T/commands")"
cd "$T/dir" || die cd
while IFS= read -r line; do
	env PATH="$T/bin:/usr/local/bin:/usr/bin:/bin" timeout 300 bash -c "$line" >"$T/out" 2>"$T/err" </dev/null
	status=$?
	case $line in
	*compare*) [ $status = 1 ] && grep -q '^  first verdict that differs.*: openat /etc/os-release' "$T/out" ;;
	*'policy diff'*) [ $status = 1 ] && grep -q 'open /etc/os-release:r' "$T/out" ;;
	*'-p policy.json today.log') [ $status = 0 ] && grep -q 'newly denied: 1' "$T/out" ;;
	*) [ $status = 0 ] ;;
	esac || fail "$line: status $status: $(tail -n 8 "$T/err" "$T/out")"
done <"$T/commands"
[ ! -e "$T/dir/work/count.txt" ] || [ "$(cat "$T/dir/work/count.txt")" -gt 0 ] || fail "count.txt is empty"
grep -q '<svg' "$T/dir/plan.results/report.svg" || fail "no plot"
[ "$(wc -l <"$T/dir/plan.results/results.csv")" = 25 ] || fail "not 24 rows"
exit $live_failed
