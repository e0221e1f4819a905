#!/bin/bash
# The memory limit, with control groups and with sampling: exceeding it ends the run and is told apart from a crash, in
# whatever way the memory is allocated. Memory that was freed or is shared is not held against the program.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../bomb.sh"
METER=memory # read by bomb.sh
need jq

# On a busy machine a bomb may come between two samples, and meet what stands behind them: RLIMIT_DATA.
stopped_in_time()
{
	jq -e '(.enforcement.cgroups.why | contains("memory is sampled")) and
		(.stdout | capture("mmap after (?<mb>[0-9]+): ENOMEM").mb | tonumber) < 400' "$T/result" >/dev/null 2>&1
}

measure()
{
	local kind
	for kind in "anonymous 3000" "hidden 3000" "tables 900" "memfds 3000" "memfds-hidden 3000" "in-child 3000"; do
		# shellcheck disable=SC2086 # two words
		bomb $kind -m 64M
		# The kernel frees descriptors that an earlier bomb had in flight later, and counts them by user.
		for _ in 1 2 3; do
			grep -q ETOOMANYREFS "$T/result" || break
			sleep 1
			# shellcheck disable=SC2086 # two words
			bomb $kind -m 64M
		done
		stopped_in_time && continue
		is '.status == "limit" and .exit_code == 137' "$1 $kind"
		is '.limits.memory | .hit and .limit == 67108864 and .peak >= 60000000' "$1 $kind"
	done
	# One at a time, or the same pages nine times: never more than the limit.
	for kind in "memfds-closed 600" "share 40" "anonymous 30"; do
		# shellcheck disable=SC2086 # two words
		bomb $kind -m 64M
		is '.status == "ok" and (.limits.memory.hit | not)' "$1 $kind"
	done
	bomb suicide 1 -m 64M
	is '.status == "failed" and .exit_code == 137 and .signal == 9 and (.limits.memory.hit | not)' "$1 suicide"
}

if layer cgroups; then
	measure "as it comes"
else
	echo "no control groups here: samples only"
fi
LIVE_WITHOUT=cgroups
measure "sampled"
is '.enforcement.cgroups.why | contains("memory is sampled")' "sampled"
# Beyond what a sample has seen, RLIMIT_DATA holds, and RLIMIT_AS for page tables.
bomb anonymous 3000 -m 64M
is '.limits.memory.peak < 400000000' "overshoot"
bomb tables 3000 -m 64M
is '.limits.memory.peak < 67108864 and (.stdout | contains("ENOMEM"))' "address space"
LIVE_WITHOUT=cgroups,namespaces
if layer pidns; then measure "sampled, without namespaces"; fi
unset LIVE_WITHOUT

# What the program had written by then is there, and the log says how it ended.
mkdir -p "$T/w"
cg_run minimal -x "$BOMB" -m 64M -w "$T/w" -- "$BOMB" in-child 3000 >/dev/null 2>"$T/err"
[ $? = 137 ] || fail "exit status of a streamed run: $(cat "$T/err")"
grep -q "reached its limit: memory" "$T/err" || fail "the run does not name the limit: $(cat "$T/err")"
audit_has '.status == "limit" and .exit_code == 137'

# What a runtime sizes itself by.
mkdir -p "$T/w"
total()
{
	cg_run minimal -x /usr/bin/head "$@" -w "$T/w" -- /usr/bin/head -n 1 /proc/meminfo 2>&1 | tr -s ' '
}
[ "$(total -m 300M)" = "MemTotal: 307200 kB" ] || fail "/proc/meminfo with a limit: $(total -m 300M)"
[ "$(total -m 900000G)" = "$(head -n 1 /proc/meminfo | tr -s ' ')" ] ||
	fail "a limit above the machine's memory: $(total -m 900000G)"
