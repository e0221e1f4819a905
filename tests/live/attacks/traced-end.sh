#!/bin/bash
# A run that is ended while its threads are traced (for injected or restarted system calls) ends at once, with its
# report.
. "$(dirname "$0")/../lib.sh"
mkdir "$T/w"
for round in 1 2 3; do
	start=$(now_ms)
	cg_run extended -x "$CASES/cases-attack" -t 2 --json -w "$T/w" -- "$CASES/cases-attack" wander \
		>"$T/json" 2>"$T/err"
	status=$?
	took=$(($(now_ms) - start))
	[ $status = 124 ] || fail "round $round: exit status $status: $(cat "$T/err")"
	[ $took -lt 30000 ] || fail "round $round: it took $took ms"
	jq -e '.calls.judged > 0' "$T/json" >/dev/null || fail "round $round: no report: $(head -c 600 "$T/json")"
done
exit 0
