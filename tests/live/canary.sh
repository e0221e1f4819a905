# shellcheck shell=bash
# For tests in which something outside must stay untouched; sourced after lib.sh. See canary.py.

# canary_start: CANARY is its directory, CANARY_PID the process, canary NAME what it is called.
canary_start()
{
	CANARY=$T/canary
	mkdir -p "$CANARY"
	rm -f "$CANARY/canary" "$CANARY"/socket*
	: >"$CANARY/contacts"
	setsid "$PYTHON" "$SRC/tests/live/canary.py" "$CANARY" </dev/null >"$CANARY/log" 2>&1 &
	CANARY_PID=$!
	awaited test -s "$CANARY/canary" || die "the canary does not start: $(cat "$CANARY/log")"
}

canary()
{
	jq -r --arg name "$1" '.[$name]' "$CANARY/canary"
}

# canary_untouched: nothing reached it, and it lives and runs.
canary_untouched()
{
	sleep 0.2
	[ ! -s "$CANARY/contacts" ] || fail "the canary was reached: $(sort "$CANARY/contacts" | uniq -c | head -n 10)"
	grep -q '^State:[[:space:]]*[SR]' "/proc/$CANARY_PID/status" 2>/dev/null ||
		fail "the canary does not run any more"
}

canary_stop()
{
	kill -KILL "$CANARY_PID" 2>/dev/null
	wait "$CANARY_PID" 2>/dev/null
	return 0
}
