#!/bin/bash
# A run ends at its time limit however many of its processes use the CPU: with a share of CPU time for the supervisor
# alone, with one share for both (the control group of a container), and when the supervisor is stopped.
. "$(dirname "$0")/../lib.sh"
need jq
cat >"$T/spin.py" <<'EOP'
import ctypes, os, sys
reader, writer = os.pipe()
for i in range(int(sys.argv[1])):
    if os.fork() == 0:
        if sys.argv[2] == "apart":
            os.setsid()
        os.close(writer)
        os.read(reader, 1)  # until all are there
        while True:
            pass
turns = (ctypes.c_uint64 * 6)(48)
if ctypes.CDLL(None).syscall(ctypes.c_long(315), 0, turns, 48, 0) == 0:  # sched_getattr: as long a turn as all have
    print("turn", turns[3])
print("all", flush=True)
os.close(writer)
while True:
    pass
EOP

# spin LOOPS HOW MOST_MS [OPTION…]: on a busy machine, of whose CPUs the run has a part, half or a quarter of the loops.
spin()
{
	local loops wrong
	for loops in "$1" $(($1 / 2)) $(($1 / 4)); do
		wrong=
		spin_once "$loops" "${@:2}"
		[ -n "$wrong" ] || return 0
		echo "$wrong"
	done
	fail "$wrong"
}

# spin_once LOOPS HOW MOST_MS [OPTION…]: sets wrong.
spin_once()
{
	local began took loops=$1 how=$2 most=$3
	shift 3
	began=$(now_ms)
	LIVE_TIMEOUT=100 cg_run python --json -t 3 --pids $((loops + 100)) "$@" -r "$T/spin.py" -- \
		"$PYTHON" "$T/spin.py" "$loops" "$how" >"$T/json" 2>"$T/err"
	took=$(($(now_ms) - began))
	echo "$loops loops, $how${*:+, $*}: $took ms, $(jq -c '[.status, .stdout, .calls.judged]' "$T/json")"
	[ $((took + 10)) -gt 3000 ] || fail "it ended before its time: $(cat "$T/err" "$T/json")"
	[ "$took" -lt "$most" ] || wrong="3 s became $took ms"
	jq -e '.status == "timeout" and .calls.judged > 0' "$T/json" >/dev/null ||
		wrong="no report: $(jq -c . "$T/json")"
	tail -n 1 "$T/audit" | jq -e '.type == "trailer" and .status == "timeout"' >/dev/null ||
		wrong="the log has no end"
	[ "$how" = apart ] || [[ " $* " == *" --without "* ]] || jq -r .stdout "$T/json" | grep -qx all ||
		wrong="not all $loops were there in time"
}

# All that is started from now on shares what this group has.
share_one_group()
{
	local base
	base=$(awk '$3 == "cgroup" && $4 ~ /(^|,)cpu(,|$)/ {print $2; exit}' /proc/mounts)
	if [ -z "$base" ]; then
		base=$(awk '$3 == "cgroup2" {print $2; exit}' /proc/mounts)
		grep -qw cpu "$base/cgroup.subtree_control" 2>/dev/null || return 1
	fi
	group=$base/callgate-test-$$
	mkdir "$group" 2>/dev/null && echo $$ 2>/dev/null >"$group/cgroup.procs" && return
	rmdir "$group" 2>/dev/null
	return 1
}

spin 300 together 9000
turn=$(jq -r .stdout "$T/json" | sed -n 's/^turn //p')
native=$("$PYTHON" -c "$(sed -n '1p; /^turns/,/^    print/p' "$T/spin.py")" | sed -n 's/^turn //p')
[ "$turn" = "$native" ] || fail "the program has turns of $turn ns, natively $native"

# With no namespace to end and no group to kill, a supervisor has to look for what it kills.
if share_one_group; then
	spin 600 together 7000 --without cgroups
	spin 600 apart 12000 --without cgroups,pidns
	# Back to where the group can be removed from.
	echo $$ >"${group%/*}/cgroup.procs"
	rmdir "$group" || fail "the group is not empty"
else
	echo "no cpu control group to share can be made: only a supervisor that is stopped was tried"
fi

# stopped SECONDS: a run with that time limit whose supervisor is stopped before. Sets keeper, program and supervisor;
# false: the limit came first.
stopped()
{
	program='' supervisor=''
	cg_run python --json -t "$1" -x /usr/bin/sleep -- /usr/bin/sleep $time >"$T/json" 2>"$T/err" &
	keeper=$!
	until program=$(pgrep -f -x "/usr/bin/sleep $time"); do
		kill -0 "$keeper" 2>/dev/null || return 1
		sleep 0.02
	done
	supervisor=$(awk '{print $4}' "/proc/$program/stat" 2>/dev/null) && kill -STOP "$supervisor" &&
		! [[ $(awk '{print $3}' "/proc/$program/stat") =~ [ZX] ]]
}

time=54$$$RANDOM # of no other test's

# No supervisor to end it: the keeper does, and what the supervisor tells later counts.
for seconds in 1 5 25; do # on a busy machine a run takes longer to begin
	stopped $seconds && break
	[ -z "$supervisor" ] || kill -CONT "$supervisor" 2>/dev/null
	wait "$keeper"
	seconds=
done
[ -n "$seconds" ] || die "no supervisor was stopped before its run's time was over: $(cat "$T/err")"
sleep "$seconds"
awaited dead "$program" || fail "the program lives on after its time"
kill -CONT "$supervisor"
wait "$keeper"
jq -e '.status == "timeout" and .calls.judged > 0' "$T/json" >/dev/null ||
	fail "a late supervisor: $(jq -c '[.status, .error, .calls]' "$T/json")"
exit 0
