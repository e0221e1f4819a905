#!/bin/bash
# Threat 33: a flood of notifications from many threads, descriptors until the table is full, and endless forks. Each is
# ended or bounded by its limit, and another run works meanwhile. How much slower: limits/bombs.sh.
. "$(dirname "$0")/../lib.sh"
need jq
mkdir "$T/n" "$T/w"
echo x >"$T/n/file"

# median: the time of a neighbour's open, in ns
median()
{
	cg run --profile minimal -x "$CASES/cases-storm" -w "$T/n" -- "$CASES/cases-storm" median "$T/n/file" 200 1
}

# flood EXPECTED OPTION… -- PROGRAM…
flood()
{
	local expected=$1 worker quiet most
	shift
	quiet=$(median)
	most=$((quiet * 100 > 1000000 ? quiet * 100 : 1000000))
	cg run --json --profile minimal -x "$CASES/cases-bomb" -x "$CASES/cases-storm" -w "$T/w" "$@" \
		>"$T/result" 2>"$T/err" &
	worker=$!
	sleep 0.5
	median >"$T/median" ||
		fail "$expected: the neighbour was hindered"
	wait $worker
	jq -e "$expected" "$T/result" >/dev/null ||
		fail "not $expected: $(jq -c '[.status, .error, .stderr[0:200]]' "$T/result") $(cat "$T/err")"
	# Natively an open takes 1 microsecond, judged 5; on a machine that does other things it took longer before.
	[ "$(cat "$T/median")" -lt $most ] ||
		fail "$expected: a neighbour's open took $(cat "$T/median") ns, $quiet before"
}
flood '.limits.cpu.hit or .limits.wall.hit' --cpu 1s -t 6 -- "$CASES/cases-storm" notify
flood '.status == "timeout" and (.stderr | test("EMFILE after 6[0-9]\n"))' --open-files 64 -t 4 \
	-- "$CASES/cases-storm" fds
flood '.status == "timeout" and .limits.pids.hit' --pids 30 -t 4 -- "$CASES/cases-bomb" bomb 60000
[ -z "$(survivors "$CASES/cases-bomb")" ] || fail "something outlived the bomb"
