#!/bin/bash
# Memory of keeper and supervisor while a program runs: idle, after many system calls, and with a network, whose
# libraries they no longer need by then. Proportional set sizes, so that shared pages count once.
. "$(dirname "$0")/../lib.sh"
need jq pgrep
[ "$(id -u)" = 0 ] || skip "smaps of processes that are not dumpable are root's"
layer self_filter || skip "a sanitizer's own memory, or no filters: $(cg run --json -- true |
	jq -r .enforcement.self_filter.why)"
most=6144 # KiB
mkdir "$T/w"

# weigh NAME OPTION… -- PROGRAM…: which says "ready" and waits
weigh()
{
	local name=$1 pid one sum=0 keeper line
	shift
	mkfifo "$T/status"
	timeout 300 "$CALLGATE" run --status-fd 9 -w "$T/w" --audit "$T/$name.log" "$@" \
		9>"$T/status" </dev/null >"$T/out" 2>"$T/err" &
	read -r -t 60 line <"$T/status"
	rm "$T/status"
	keeper=$(jq -r .pid <<<"$line")
	awaited has_line "$T/out" ready || die "$name: nothing runs: $(cat "$T/err")"
	for pid in "$keeper" $(pgrep -P "$keeper"); do
		# Egress is the price of a network.
		! tr '\0' ' ' <"/proc/$pid/cmdline" | grep -q '/callgate-egress egress $' || continue
		one=$(awk '/^Pss:/ {print $2}' "/proc/$pid/smaps_rollup")
		sum=$((sum + ${one:-0}))
	done
	kill "$keeper"
	wait
	echo "$name: $sum KiB"
	[ "$sum" -gt 0 ] || fail "$name: nothing was weighed"
	[ "$sum" -le $most ] || fail "$name: keeper and supervisor weigh $sum KiB, more than $most"
}

many='
import os, sys, time
for _ in range(int(sys.argv[1])):
    os.close(os.open("/usr/lib", os.O_RDONLY))
    os.stat("/etc/localtime", follow_symlinks=False)
print("ready", flush=True)
time.sleep(300)'

weigh idle --profile extended -- sh -c 'echo ready; exec sleep 300'
weigh calls --profile data -- "$PYTHON" -c "$many" 20000
weigh network --profile extended --profile pypi -- sh -c 'echo ready; exec sleep 300'
