#!/bin/bash
# The limit of processes and threads: by a control group, by RLIMIT_NPROC in a user namespace, or by judging forks.
# fork(2) fails with EAGAIN, a fork bomb is contained, and another run goes on.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../bomb.sh"
METER=pids # read by bomb.sh
need jq pgrep

# Counted by its name, which no other test may have at the same time.
BOMB=$T/bomb
cp "$CASES/cases-bomb" "$BOMB" || die "copy"

# The most members a run has had while $1 (a pid) lived; marked by its name.
most_members()
{
	local most=0 now
	while kill -0 "$1" 2>/dev/null; do
		now=$(pgrep -c -f "^$BOMB bomb")
		[ "$now" -gt "$most" ] && most=$now
	done
	echo "$most"
}

measure()
{
	local most ms
	bomb crowd 60 --pids 20
	is '.exit_code == 1 and .stdout == "fork after 19: EAGAIN\n"' "$1 crowd"
	bomb threads 60 --pids 20
	is '.exit_code == 1 and .stdout == "pthread_create after 19: EAGAIN\n"' "$1 threads"
	bomb serial 200 --pids 4
	is '.status == "ok" and (.limits.pids.hit | not) and .limits.pids.limit == 4' "$1 serial"
	# On a busy machine a bomb takes longer to grow.
	for ms in 1500 6000 24000; do
		bomb bomb $ms --pids 30 &
		most=$(most_members $!)
		wait $!
		{ [ "$most" -ge 5 ] && jq -e '.limits.pids | .hit and .peak >= 20' "$T/result" >/dev/null; } && break
	done
	# The program's own processes; callgate's are named otherwise.
	[ "$most" -le 34 ] || fail "$1: a fork bomb had $most members of 30"
	[ "$most" -ge 5 ] || fail "$1: a fork bomb was not seen at work ($most)"
	is '.limits.pids.hit and .limits.pids.peak >= 20 and .limits.pids.peak <= 34' "$1 bomb"
	[ "$(pgrep -c -f "^$BOMB bomb")" = 0 ] || fail "$1: something outlived the fork bomb"
}

# By the pid namespace's own pid_max, which is there for many only: up to 300 sooner. Elsewhere so many are other tests'
# too.
many()
{
	bomb serial 1 --pids 1024
	jq -e '.enforcement.cgroups.why | contains("pid_max")' "$T/result" >/dev/null || return
	bomb crowd 1100 --pids 1024
	is '.exit_code == 1 and
		(.stdout | test("^fork after (72[4-9]|7[3-9][0-9]|[89][0-9][0-9]|10[01][0-9]|102[0-3]): EAGAIN\n$"))' \
			"$1 many"
	[ "$(cat /proc/sys/kernel/pid_max)" = "$pid_max" ] || fail "$1: the machine's own pid_max was changed"
}
pid_max=$(cat /proc/sys/kernel/pid_max)

# A run of 50 forks.
forks()
{
	mkdir -p "$T/n"
	cg run --profile minimal -x "$BOMB" --pids 20 -w "$T/n" -- "$BOMB" serial 50 >/dev/null
}

# A run beside a fork bomb does its work. The bomb lives until the work is done, or else until its time limit.
neighbour()
{
	local keeper
	bomb bomb 600000 -t 60 --pids 30 &
	keeper=$!
	until [ "$(pgrep -c -f "^$BOMB bomb")" -ge 20 ]; do
		kill -0 "$keeper" 2>/dev/null || die "$1: no bomb beside: $(cat "$T/err" "$T/result")"
	done
	forks || fail "$1: a neighbour was hindered"
	kill -KILL "$(pgrep -o -f "^$BOMB bomb")" || fail "$1: a neighbour had to wait for the end of the bomb"
	wait "$keeper"
	# Whether the limit was hit is known by samples where RLIMIT_NPROC holds it: measure() has seen that.
	is '.status != "timeout"' "$1 bomb beside"
	forks || fail "$1: a run after a bomb was hindered"
}

measure "as it comes"
many "as it comes"
neighbour "as it comes"
if cg run --require cgroups --profile minimal -x "$BOMB" -- "$BOMB" serial 1 >/dev/null 2>&1; then
	LIVE_OPTIONS="--require cgroups"
	measure "in a control group"
	neighbour "in a control group"
	LIVE_OPTIONS=
fi
LIVE_WITHOUT=cgroups
layer cgroups && measure "without control groups"
LIVE_WITHOUT=cgroups,namespaces
if layer pidns; then
	measure "without namespaces"
	neighbour "without namespaces"
fi
