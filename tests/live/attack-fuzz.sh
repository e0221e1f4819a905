#!/bin/bash
# Random calls with random arguments: the supervisor does not crash or hang, keeps its descriptors and refuses nothing less.
# ATTACK_SECONDS, ATTACK_SEED: for longer runs, under --enable-sanitizers above all.
. "$(dirname "$0")/lib.sh"
seconds=${ATTACK_SECONDS:-20} seed=${ATTACK_SEED:-1}
mkdir "$T/w" "$T/outside"
echo canary >"$T/outside/canary"
before=$(tree "$T/outside")
export LIVE_TIMEOUT=$((seconds + 30))
cg run --profile extended -x "$CASES/attack-fuzz" -w "$T/w" -- "$CASES/attack-fuzz" "$seconds" "$seed" >"$T/out" 2>"$T/err" &
top=$!
sleep 4
supervisor() { # the first child of callgate, which is timeout's
	local keeper
	keeper=$(pgrep -P $top | head -n 1)
	[ -n "$keeper" ] && pgrep -P "$keeper" | head -n 1
}
pid=$(supervisor)
first=0 last=0
if [ -n "$pid" ]; then
	first=$(find "/proc/$pid/fd" -mindepth 1 2>/dev/null | wc -l)
	sleep $((seconds - 8))
	last=$(find "/proc/$pid/fd" -mindepth 1 2>/dev/null | wc -l)
fi
wait $top
status=$?
[ $status = 0 ] || fail "it ended with $status: $(tail -n 5 "$T/err")"
grep -q '^attack-fuzz: ' "$T/out" || fail "the fuzzer did not end: $(cat "$T/out" "$T/err")"
[ "$last" -le $((first + 100)) ] || fail "the supervisor's descriptors grew from $first to $last"
[ "$before" = "$(tree "$T/outside")" ] || fail "something outside changed"
exit 0
