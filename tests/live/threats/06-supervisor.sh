#!/bin/bash
# Threat 6: the supervisor dies: then no process of the run is left.
. "$(dirname "$0")/../lib.sh"
mark=cg-mark-$$-$RANDOM
mkdir "$T/w"
cg_run minimal -x "$CASES/cases-threat" -w "$T/w" -- "$CASES/cases-threat" linger "$mark" >"$T/out" 2>&1 &
keeper_wait=$!
lingers()
{
	for program in $(survivors "$mark"); do
		[ "$(tr '\0' ' ' <"/proc/$program/cmdline" 2>/dev/null)" != "$CASES/cases-threat linger $mark " ] ||
			return 0
	done
	return 1
}
awaited lingers || die "the program did not start: $(cat "$T/out")"
sleep 0.2
supervisor=$(awk '{print $4}' "/proc/$program/stat")
kill -KILL "$supervisor" || die "no supervisor"
awaited dead "$program" || fail "the program is alive after its supervisor's death"
wait "$keeper_wait"
[ $? = 125 ] || fail "callgate did not end with 125"
grep -q callgate "$T/out" || fail "no message: $(cat "$T/out")"
