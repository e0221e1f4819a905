#!/bin/bash
# More than 200 attempts at a permission without an answer of the approver: those of programs, and those of
# test_attempts, which are at the approver's own fronts. Prints how many there were.
. "$(dirname "$0")/../lib.sh"
need python3
mkdir "$T/attempts"
python3 "$SRC/tests/cases/approval-attempts.py" outside "$T/attempts" "$CALLGATE" >"$T/out" 2>&1 ||
	fail "attempts: $(head -n 40 "$T/out")"
count=$(sed -n 's/ attempts$//p' "$T/out")
fronts=$BUILD/tests/unit/approval/test_attempts
if [ -x "$fronts" ]; then
	more=$("$fronts" | sed -n 's/^\([0-9]*\) attempts$/\1/p')
	count=$((count + ${more:-0}))
	[ "$count" -ge 380 ] || fail "$count attempts"
fi
echo "$count attempts, all refused or harmless"
exit 0
