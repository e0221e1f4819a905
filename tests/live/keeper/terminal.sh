#!/bin/bash
# --tty: a terminal of the run's own, with job control, size, keys, and the caller's terminal as it was at every end.
. "$(dirname "$0")/../lib.sh"
need vim less setsid seq
mkdir "$T/runs"
timeout -k 5 500 "$PYTHON" "$SRC/tests/cases/terminal.py" "$CALLGATE" "$T/runs" \
	${LIVE_WITHOUT:+--without "$LIVE_WITHOUT"} ||
	fail "see above"
[ "$(cg run --profile extended --tty -- sh -c 'tty >/dev/null && echo yes' | tr -d '\r')" = yes ] ||
	fail "no terminal without one outside"

# without --tty there is none, whatever callgate itself has
timeout -k 5 300 script -qec "'$CALLGATE' run --profile extended -i -- sh -c 'tty; (: </dev/tty) || echo no tty'" \
	/dev/null \
	</dev/null >"$T/out" 2>&1
{ grep -q 'not a tty' "$T/out" && grep -q 'no tty' "$T/out"; } || fail "a terminal without --tty: $(cat "$T/out")"
