#!/bin/bash
# The light half of the real programs of tests/programs: each prints and leaves inside what it does natively. In a
# container every second one: outside all were run.
. "$(dirname "$0")/../lib.sh"
passed=${LIVE_OPTIONS:-} part=0/1
[ -z "${OUTER_FILTER:-}" ] || part=0/2
[ -z "${LIVE_WITHOUT:-}" ] || passed="$passed --without $LIVE_WITHOUT"
CALLGATE=$CALLGATE "$PYTHON" "$SRC/tests/programs/run.py" --light --part "$part" --with "$passed" \
	>"$T/out" 2>&1 ||
	fail "$(grep -v '^ok ' "$T/out" && grep '^FAIL' "$T/out")"
tail -n 1 "$T/out"
