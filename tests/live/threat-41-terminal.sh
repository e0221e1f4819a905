#!/bin/bash
# Threat 41: nothing is typed into the caller's terminal.
. "$(dirname "$0")/lib.sh"
need script
mkdir "$T/w" "$T/shell"
cat >"$T/inner.sh" <<EOF
cd "$T/shell"
"$CALLGATE" run --profile minimal -i -x "$CASES/cases-threat" -w "$T/w" -- "$CASES/cases-threat" tty
echo "status \$?"
EOF
# a shell on a terminal of its own: what is typed into it is read by the cat that follows
timeout -k 5 "$LIVE_TIMEOUT" script -qec "bash '$T/inner.sh'; timeout 1 cat" /dev/null <<<"" >"$T/out" 2>&1
grep -q 'status 0' "$T/out" || fail "$(cat "$T/out")"
grep -q typed-by-the-program "$T/out" && fail "typed: $(cat "$T/out")"
true
