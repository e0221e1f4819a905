#!/bin/bash
# Threat 41: the program cannot inject input into the terminal of callgate's caller.
. "$(dirname "$0")/../lib.sh"
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

# Every number there is, on what the program has for a terminal: pipes, and with --tty one of its own, where most would
# work.
hostile cases-threat ioctls
echo "exec '$CALLGATE' run --tty --profile minimal -x '$CASES/cases-threat' -w '$T/w' -- '$CASES/cases-threat' ioctls" \
	>"$T/own.sh"
timeout -k 5 "$LIVE_TIMEOUT" script -qec "sh '$T/own.sh'" /dev/null </dev/null >"$T/out" 2>&1 ||
	fail "with --tty: $(head -n 5 "$T/out")"
# (natively one of them hangs the terminal up, and what was said there with it: so it speaks into a file)
timeout -k 5 "$LIVE_TIMEOUT" script -qec "trap '' HUP; '$CASES/cases-threat' ioctls >'$T/out'" /dev/null \
	</dev/null >/dev/null 2>&1
grep -q GOT "$T/out" || fail "natively no ioctl works: the sweep shows nothing"

# A device node that stands for "my terminal" in a granted tree: it is opened by the supervisor, which has none.
if mkdir "$T/dev" && mknod "$T/dev/tty" c 5 0 2>/dev/null && chmod 666 "$T/dev/tty"; then
	echo "exec '$CALLGATE' run --json --profile extended -W '$T/dev' -w '$T/w' -- sh -c" \
		"'echo printed >\"$T/dev/tty\"'" \
		>"$T/device.sh"
	timeout -k 5 "$LIVE_TIMEOUT" script -qec "sh '$T/device.sh'" /dev/null </dev/null >"$T/out" 2>&1
	grep -q '^printed' "$T/out" && fail "a tty device led to the caller's terminal: $(head -n 3 "$T/out")"
	grep -qE 'No such device|Permission denied' "$T/out" || fail "not refused: $(cat "$T/out")"
fi

# with a terminal of its own, from which nothing leads to the caller's either
mkdir "$T/runs"
CASES_OF_TERMINAL="nothing_is_typed nobody_of_ours_has_it" timeout \
	-k 5 110 "$PYTHON" "$SRC/tests/cases/terminal.py" "$CALLGATE" "$T/runs" ||
	fail "see above"
