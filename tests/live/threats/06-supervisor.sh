#!/bin/bash
# Threat 6: the supervisor dies: within a second no process of the run is left.
. "$(dirname "$0")/../lib.sh"
mark=cg-mark-$$-$RANDOM
mkdir "$T/w"
cg_run minimal -x "$CASES/cases-threat" -w "$T/w" -- "$CASES/cases-threat" linger "$mark" >"$T/out" 2>&1 &
keeper_wait=$!
for _ in $(seq 100); do
	program=$(survivors linger | while read -r p; do [ \
		"$(tr '\0' ' ' <"/proc/$p/cmdline" 2>/dev/null)" = "$CASES/cases-threat linger $mark " ] &&
		echo "$p"; done)
	[ -n "$program" ] && break
	sleep 0.05
done
[ -n "$program" ] || die "the program did not start: $(cat "$T/out")"
sleep 0.2
supervisor=$(awk '{print $4}' "/proc/$program/stat")
kill -KILL "$supervisor" || die "no supervisor"
for _ in $(seq 10); do
	kill -0 "$program" 2>/dev/null || break
	sleep 0.1
done
kill -0 "$program" 2>/dev/null && fail "the program is alive a second after its supervisor's death"
wait "$keeper_wait"
[ $? = 125 ] || fail "callgate did not end with 125"
grep -q callgate "$T/out" || fail "no message: $(cat "$T/out")"
