#!/bin/bash
# Threat 18: userfaultfd and memfd_secret do not exist, and pages that cannot be read are EFAULT; other tasks go on.
. "$(dirname "$0")/../lib.sh"
cp "$SRC/tests/cases/threat-stall.py" "$T/"
timeout "$LIVE_TIMEOUT" "$CALLGATE" run --profile extended ${OUTER_FILTER:+-e OUTER_FILTER=1} -w "$T" \
	-- "$PYTHON" threat-stall.py >"$T/out" 2>"$T/err" ||
	fail "ended with $?: $(cat "$T/err")"
[ -s "$T/out" ] && fail "$(cat "$T/out")"
true
