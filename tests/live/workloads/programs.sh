#!/bin/bash
# The light half of the real programs of tests/programs: each prints and leaves inside what it does natively.
. "$(dirname "$0")/../lib.sh"
passed=${LIVE_OPTIONS:-}
[ -z "${LIVE_WITHOUT:-}" ] || passed="$passed --without $LIVE_WITHOUT"
CALLGATE=$CALLGATE "$PYTHON" "$SRC/tests/programs/run.py" --light --with "$passed" >"$T/out" 2>&1 ||
	fail "$(grep -v '^ok ' "$T/out" && grep '^FAIL' "$T/out")"
tail -n 1 "$T/out"
