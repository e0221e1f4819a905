#!/bin/bash
# Signals and settings of other processes within the run: the siginfo that the receiver gets, and every errno, are as
# natively.
. "$(dirname "$0")/../lib.sh"
need jq
[ "$(uname -m)" = x86_64 ] || skip "the case has the numbers of x86-64"
# Without a lock of the kernel's on signals the supervisor sends them, and is seen as their sender.
bounded=$(cg run --profile minimal --json ${LIVE_WITHOUT:+--without "$LIVE_WITHOUT"} -x /bin/true -- /bin/true |
	jq -r '.enforcement | .pidns.active or (.landlock.active and (.landlock.why | capture("ABI (?<n>[0-9]+)").n |
	tonumber >= 6))')
mode=
[ "$bounded" = true ] || mode=unbounded
echo "signals are ${mode:-bounded}"
prepare() { cp "$SRC/tests/cases/signals.py" "$1"; }
# shellcheck disable=SC2086 # a word or none
same signals "$PYTHON" signals.py $mode
