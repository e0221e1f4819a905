#!/bin/bash
# A program and its children see the CPU affinity masks that they set, whatever CPU placement the supervisor applies.
. "$(dirname "$0")/../lib.sh"
cpus=$("$PYTHON" -c 'import os; print(",".join(map(str, sorted(os.sched_getaffinity(0)))))')
echo x >"$T/file"
options=(--profile minimal -r "$T/file" -x "$CASES/cases-affinity" -x /usr/bin/taskset)
# shellcheck disable=SC2206 # words
options+=(${LIVE_OPTIONS:-})

timeout "$LIVE_TIMEOUT" "$CASES/cases-affinity" "$T/file" "$cpus" >"$T/native" || die "natively: $(cat "$T/native")"
timeout "$LIVE_TIMEOUT" "$CALLGATE" run "${options[@]}" --audit "$T/log" -- "$CASES/cases-affinity" "$T/file" "$cpus" \
	>"$T/out" ||
	fail "status $?: $(cat "$T/out")"
cat "$T/out"

# Started with one CPU: with the first inside, with the last outside.
first=${cpus%%,*} last=${cpus##*,}
timeout "$LIVE_TIMEOUT" "$CALLGATE" run "${options[@]}" \
	-- /usr/bin/taskset -c "$first" "$CASES/cases-affinity" "$T/file" "$first" \
	>"$T/out" || fail "taskset $first inside: status $?: $(cat "$T/out")"
timeout "$LIVE_TIMEOUT" taskset -c "$last" "$CALLGATE" run "${options[@]}" \
	-- "$CASES/cases-affinity" "$T/file" "$last" \
	>"$T/out" || fail "taskset $last outside: status $?: $(cat "$T/out")"

# Asking for one's own mask is native elsewhere, so it is not on record; another's is.
own=$(grep '"sched_getaffinity"' "$T/log" | grep -v '"args":{"pid":[1-9]')
[ -z "$own" ] || fail "its own mask is on record: $own"
