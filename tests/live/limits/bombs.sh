#!/bin/bash
# Fork, memory, descriptor and disk bombs, floods of output and of notifications, a storm of SIGSTOP, 64 blocked opens.
# Each ends by its limit. Meanwhile the median open(2) of another run takes less than three times as long as usual.
. "$(dirname "$0")/../lib.sh"
need jq
BOMB=$CASES/cases-bomb STORM=$CASES/cases-storm
mkdir "$T/n"
echo neighbour >"$T/n/file"

# measure: five medians of a neighbour's open, and of these the second best, since other work of the machine only adds.
measure()
{
	cg run --profile minimal -x "$STORM" -w "$T/n" -- "$STORM" median "$T/n/file" 150 5 2>>"$T/err" | sort -n |
		sed -n 2p
}

# work EXPECTED OPTION… -- PROGRAM…: one bomb after the other until there is a file named stop.
work()
{
	local expected=$1 i=0
	shift
	while [ ! -e "$T/stop" ]; do
		i=$((i + 1))
		rm -rf "$T/w"
		mkdir "$T/w"
		cg run --json --profile minimal -x "$BOMB" -x "$STORM" -x "$CASES/cases-fill" -w "$T/w" "$@" \
			>"$T/result" 2>"$T/bomb.err"
		jq -e "$expected" "$T/result" >/dev/null ||
			echo "not $expected: $(jq -c '[.status, .exit_code, (.limits |
			map_values(select(.used))), .error, .stderr[0:200]]' "$T/result") $(cat "$T/bomb.err")"
	done >"$T/wrong"
	echo $i >"$T/bombs"
}

# bomb NAME EXPECTED OPTION… -- PROGRAM…
bomb()
{
	local name=$1 worker quiet loud
	shift
	for _ in 1 2 3; do
		rm -f "$T/stop"
		quiet=$(measure)
		work "$@" &
		worker=$!
		sleep 0.7
		loud=$(measure)
		touch "$T/stop"
		wait $worker
		[ -s "$T/wrong" ] && fail "$name: $(head -n 2 "$T/wrong")" && return
		if [ -z "$quiet" ] || [ -z "$loud" ]; then
			fail "$name: the neighbour was hindered: $(cat "$T/err")"
			return
		fi
		echo "$name: a neighbour's open takes $loud ns instead of $quiet," \
			"$(cat "$T/bombs") times until ended by the limit"
		[ "$loud" -ge $((quiet * 3)) ] || return # one of three: what else the machine does is not the bomb's
	done
	fail "$name: three times a neighbour's open took three times as long, now $loud ns instead of $quiet"
}

bomb "fork bomb" '.status == "timeout" and .limits.pids.hit' --pids 30 -t 4 -- "$BOMB" bomb 60000
bomb "memory bomb" '.status == "limit" and .exit_code == 137 and .limits.memory.hit' -m 64M -- "$BOMB" anonymous 3000
bomb "descriptor bomb" '.status == "timeout" and (.stderr | test("EMFILE after 6[0-9]\n"))' --open-files 64 -t 4 \
	-- "$STORM" fds
bomb "disk bomb" '.status == "limit" and .limits.disk.hit' --disk 16M -- "$CASES/cases-fill" one 2048
bomb "output flood" '.status == "limit" and .limits.disk.hit and .stdout_truncated' --output-limit 64K --disk 64M \
	-- "$STORM" output
bomb "output flood without a limit of the disk" '(.status == "timeout" or .status == "limit") and .stdout_truncated' \
	-t 1 -- "$STORM" output
# Nearly all of the work is the supervisor's, so on a crowded machine time is up first.
bomb "notification flood" '.limits.cpu.hit or .limits.wall.hit' --cpu 1s -t 4 -- "$STORM" notify
bomb "storm of stops" '.status == "timeout"' -t 2 -- "$STORM" stop
bomb "64 blocked opens" '.status == "timeout" and .stderr == "the others go on\n"' -t 5 -- "$STORM" fifos
for what in bomb storm fill; do
	[ -z "$(survivors "$CASES/cases-$what")" ] ||
		fail "something outlived a bomb: $(survivors "$CASES/cases-$what")"
done
