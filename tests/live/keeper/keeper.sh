#!/bin/bash
# Deaths of the parent, the keeper and the supervisor at random moments, interrupts, stops, and programs that resist:
# the whole tree is gone within a second. ROUNDS: how often each random moment is tried.
. "$(dirname "$0")/../lib.sh"
need setsid
mkdir "$T/runs"
timeout -k 5 600 "$PYTHON" "$SRC/tests/cases/keeper.py" "$CALLGATE" "$T/runs" \
	${LIVE_WITHOUT:+--without "$LIVE_WITHOUT"} ||
	fail "see above"
