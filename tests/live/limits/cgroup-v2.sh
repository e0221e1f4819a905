#!/bin/bash
# Control groups of version 2, from groups of every kind: an ordinary one, one with limits of its own, a delegated
# one, a threaded one, one that may only be read. A run's limits hold in each, and its record says who enforces them.
# For tests/vm: elsewhere there is rarely such a hierarchy.
. "$(dirname "$0")/../lib.sh"
need jq unshare python3
[ "$(id -u)" = 0 ] || skip "not root, who makes the groups"
root=/sys/fs/cgroup
grep -qs memory $root/cgroup.controllers || skip "no control groups of version 2 with controllers at $root"

BOMB=$CASES/cases-bomb
outer=$root/callgate-test-$$
mkdir "$outer" || die "no group can be made"
for group in $root "$outer"; do
	echo "+memory +pids +cpu" >"$group/cgroup.subtree_control" || die "no controllers below $group"
done
remove_groups()
{
	local status=$?
	find "$outer" -depth -type d -exec rmdir {} \; 2>/dev/null
	return $status
}
trap 'remove_groups; live_done' EXIT

# run_in GROUP OPTION… -- PROGRAM…: a run that is started in this group; its result goes to $T/result.
run_in()
{
	local group=$1
	shift
	# shellcheck disable=SC2016 # the inner shell's
	timeout -k 5 300 sh -c 'echo $$ >"$1/cgroup.procs" && shift && exec "$@"' sh "$group" "$CALLGATE" run --json \
		--profile minimal -x "$BOMB" "$@" >"$T/result" 2>"$T/err" </dev/null
	jq -e .status "$T/result" >/dev/null || fail "no result: $(cat "$T/result" "$T/err")"
}

# is FILTER WHAT: it is true of the result.
is()
{
	jq -e "$1" "$T/result" >/dev/null || fail "$2: not so: $1: $(jq -c '[.status, .exit_code, .error, .stdout,
		.limits.memory, .limits.pids, .enforcement.cgroups]' "$T/result")"
}

# The kernel's limits, in a group beside the ordinary one, which holds processes.
mkdir "$outer/plain" || die "$outer/plain"
run_in "$outer/plain" -m 64M --pids 20 -- "$BOMB" serial 1
is '.status == "ok" and .enforcement.cgroups.active and .limits.memory.peak > 0' plain
run_in "$outer/plain" -m 64M --pids 20 -- "$BOMB" anonymous 300
is '.status == "limit" and .limits.memory.hit and .limits.memory.peak <= 67108864' "plain: memory"
run_in "$outer/plain" -m 64M --pids 20 -- "$BOMB" crowd 60
is '.exit_code == 1 and (.stdout | test("^fork after 1[0-9]: EAGAIN\n$"))' "plain: pids"
# All of a run ends with the first that the kernel ends.
"$CALLGATE" run --profile minimal -m 64M -x "$BOMB" -- "$BOMB" spin 1 >/dev/null 2>&1 &
spinner=$!
has_groups()
{
	groups=$(find $root -name memory.oom.group -path '*/callgate-*' -exec grep -l 1 {} + 2>/dev/null)
	[ -n "$groups" ]
}
awaited has_groups
kill $spinner
wait $spinner 2>/dev/null
[ -n "$groups" ] || fail "no group of a run has memory.oom.group"
[ -z "$(find "$outer" -mindepth 2 -name 'run-*')" ] || fail "groups are left: $(find "$outer" -type d)"

# Limits of its own bind the run: it is not moved to a group beside, to which they do not apply.
for limit in "memory.max 104857600" "memory.high 104857600" "cpu.max 50000 100000"; do
	group=$outer/limited
	mkdir "$group" || die "$group"
	echo "${limit#* }" >"$group/${limit%% *}" || die "$limit"
	run_in "$group" -m 64M --pids 20 -- "$BOMB" anonymous 300
	is '.status == "limit" and (.enforcement.cgroups.active | not)' "$limit"
	is '.enforcement.cgroups.why | contains("holds processes")' "$limit"
	rmdir "$group" || fail "$limit: the group is not empty"
done
# Its parent cannot be used for the same reason, but systemd has delegated the group: its processes may be moved into a
# leaf of it, and the run gets another.
mkdir "$outer/delegated" || die "$outer/delegated"
echo 104857600 >"$outer/delegated/memory.max" || die "$outer/delegated"
python3 -c 'import os, sys; os.setxattr(sys.argv[1], "user.delegate", b"1")' "$outer/delegated" ||
	die "$outer/delegated: no user.delegate"
run_in "$outer/delegated" -m 64M --pids 20 -- "$BOMB" anonymous 300
is '.status == "limit" and .limits.memory.hit and .enforcement.cgroups.active' delegated

# The number of tasks of a group binds the run, too.
mkdir "$outer/few" || die "$outer/few"
echo 15 >"$outer/few/pids.max" || die "$outer/few"
run_in "$outer/few" -m 64M --pids 40 -- "$BOMB" crowd 60
is '.exit_code == 1 and (.stdout | test("^fork after [0-9]: EAGAIN\n$|^fork after 1[0-5]: EAGAIN\n$"))' "pids.max 15"

# A threaded group cannot have memory.max: no group below it, and none beside.
mkdir -p "$outer/top/threaded" || die "$outer/top/threaded"
echo threaded >"$outer/top/threaded/cgroup.type" || die "$outer/top/threaded"
# shellcheck disable=SC2016 # the inner shell's
timeout 300 sh -c 'echo $$ >"$1/cgroup.procs" && echo $$ >"$1/threaded/cgroup.threads" && shift && exec "$@"' sh \
	"$outer/top" "$CALLGATE" run --json --profile minimal -m 64M --pids 20 -x "$BOMB" -- "$BOMB" anonymous 300 \
	>"$T/result" 2>"$T/err" </dev/null
is '.status == "limit" and .limits.memory.hit and (.enforcement.cgroups.active | not)' threaded

# A hierarchy that may only be read, as in rootless containers.
unshare -m sh -c 'mount -o remount,bind,ro /sys/fs/cgroup && exec "$@"' sh "$CALLGATE" run --json --profile minimal \
	-m 64M --pids 20 -x "$BOMB" -- "$BOMB" anonymous 300 >"$T/result" 2>"$T/err" </dev/null
is '.status == "limit" and (.enforcement.cgroups.active | not) and
	(.enforcement.cgroups.why | contains("Read-only"))' read-only
