#!/bin/bash
# Kernels whose Landlock is older than this one's, each ABI from 1 on, as callgate sees them (tests/cases/failing.c):
# enforcement says what is lacking, and what that ABI has holds, also alone and where the kernel judges reading.
. "$(dirname "$0")/../lib.sh"
need jq
failing=$CASES/callgate-failing
program=$CASES/cases-second-lock
[ -x "$failing" ] || skip "not built: $failing"
newest=$("$failing" run --json --profile minimal -x "$program" -- "$program" 2>/dev/null |
	jq -r '.enforcement.landlock | select(.active) | .why | capture("ABI (?<n>[0-9]+)").n')
[ -n "$newest" ] || skip "no Landlock here"
modes=(all)
if layer mountns && layer pidns && layer netns; then
	modes+=(changes)
fi
mkdir -p "$T/outside" "$T/home2"
echo victim | tee "$T/outside/victim" "$T/home2/victim" >"$T/said"

# What is told of each ABI: has WORD, or lacks WORD.
tells()
{
	local word abi
	while read -r abi word; do
		if [ "$1" -ge "$abi" ]; then
			! grep -q "not held:.*$word" <<<"$2" || fail "ABI $1: it is said to lack $word: $2"
		else
			grep -q "not held:.*$word" <<<"$2" || fail "ABI $1: it is not said to lack $word: $2"
		fi
	done <<<$'3 truncate\n4 TCP\n6 abstract sockets\n10 UDP'
}

# attempt ABI JUDGE BUILD OPTION…: what the second lock's attack gets.
attempt()
{
	local abi=$1 judge=$2 build=$3
	local got=$T/$abi.$judge.$build
	shift 3
	mkdir -p "$got/w/sub"
	echo victim >"$got/w/victim"
	LANDLOCK_ABI=$abi timeout -k 5 "$LIVE_TIMEOUT" "$CASES/callgate-$build" run --json --judge "$judge" "$@" \
		--profile minimal -x "$program" -w "$got/w" -- "$program" "$T/outside" "$got/w" "$T/home2" 0 0 none \
		"$T/outside/none" $$ "$abi" </dev/null >"$got/result" 2>"$got/err"
	jq -r .stdout "$got/result" >"$got/out" || fail "ABI $abi, $judge: no result: $(cat "$got/err")"
	[ "$(jq -r .judge "$got/result")" = "$judge" ] ||
		fail "ABI $abi: judged: $(jq -c '.enforcement["kernel-reads"], .error' "$got/result")"
	grep -q '^\(got\|unheld\) ' "$got/out" ||
		fail "ABI $abi, $judge, $build: it did not run: $(cat "$got/out" "$got/err")"
	tells "$abi" "$(jq -r .enforcement.landlock.why "$got/result")"
	grep "^got .*\($T/outside\|$T/home2\)" "$got/out" && fail "ABI $abi, $judge, $build: the above of outside"
	[ "$build" != failing ] || ! grep '^unheld\|^got \(exec\|loader\|script\|tcp\|abstract\|signal\|ptrace\)' \
		"$got/out" || fail "ABI $abi, $judge: got the above"
	[ "$build $judge" != "open all" ] || ! grep '^got ' "$got/out" || fail "ABI $abi alone: got the above"
	# The reading rules: what the policy grants is read, and what is written below it is not the domain's to allow.
	[ "$build $judge" != "open changes" ] || grep -qxF "got read $got/w/victim" "$got/out" ||
		fail "ABI $abi: what is granted cannot be read"
	[ "$build $judge" != "open changes" ] || ! grep "^got \(write\|create\|mkdir\|rename\|link\) " "$got/out" ||
		fail "ABI $abi, changes: the domain lets the above pass"
}
for ((abi = 1; abi <= newest; abi++)); do
	for judge in "${modes[@]}"; do
		without=()
		[ "$judge" = changes ] || without=(--without namespaces)
		[ "$judge" = all ] || attempt "$abi" "$judge" failing
		attempt "$abi" "$judge" open "${without[@]}"
	done
done
[ "$(cat "$T/outside/victim" "$T/home2/victim")" = $'victim\nvictim' ] || fail "files outside have changed"
exit "$live_failed"
