#!/bin/bash
# When memory runs out the kernel kills the program first. The program cannot lower its own oom_score_adj to that of the
# supervisor, by any of its /proc names.
. "$(dirname "$0")/../lib.sh"
mkdir -p "$T/w"
# shellcheck disable=SC2016 # the inner shell's
cg_run extended -w "$T/w" -- /bin/bash -c 'for name in /proc/self /proc/thread-self /proc/$$ /proc/$$/task/$$; do
	echo 0 >"$name/oom_score_adj"; echo -17 >"$name/oom_adj"; done; exec 3<>/proc/self/oom_score_adj && echo 0 >&3
	cat /proc/$$/oom_score_adj; echo renamed >/proc/$$/comm && cat /proc/$$/comm' >"$T/out" 2>"$T/err"
[ "$(head -n 1 "$T/out")" -ge 800 ] || fail "oom_score_adj inside: $(cat "$T/out") $(cat "$T/err")"
[ "$(sed -n 2p "$T/out")" = renamed ] || fail "its own name cannot be set: $(cat "$T/out") $(cat "$T/err")"
