#!/bin/bash
# Random system calls with random arguments from many threads. Nothing outside is touched (a directory, a process,
# sockets of four kinds), nothing hangs or crashes, and keeper and supervisor do not leak memory or file descriptors.
# Once with all sandbox layers, once with the seccomp filter alone. ATTACK_SECONDS, ATTACK_SEED: for longer runs, above
# all under --enable-sanitizers.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../canary.sh"
. "$(dirname "$0")/../watch.sh"
need jq pgrep
seconds=${ATTACK_SECONDS:-8} seed=${ATTACK_SEED:-1}
export LIVE_TIMEOUT=$((seconds + 40))
mkdir -m 755 "$T/outside"
echo canary >"$T/outside/canary"
before=$(tree "$T/outside")
canary_start

# fuzz NAME OPTION…
fuzz()
{
	local name=$1 top status
	shift
	chmod -R u+rwX "$T/w" 2>/dev/null # the fuzzer took it away
	rm -rf "$T/w"
	mkdir "$T/w" || die "mkdir"
	cg run --profile extended -x "$CASES/attack-fuzz" -w "$T/w" "$@" \
		-- "$CASES/attack-fuzz" "$seconds" "$seed" 8 "$T/outside" \
		"$CANARY_PID" "$(canary tcp)" "$(canary udp)" "$(canary abstract)" "$(canary path)" \
		>"$T/out" 2>"$T/err" &
	top=$!
	watch_run $top "$seconds" "$T/samples"
	wait $top
	status=$?
	[ $status = 0 ] || fail "$name: it ended with $status: $(tail -n 5 "$T/err")"
	grep -q '^attack-fuzz: ' "$T/out" || fail "$name: the fuzzer did not end: $(cat "$T/out" "$T/err")"
	watch_flat "$name" "$T/samples" 6000 100
	[ "$before" = "$(tree "$T/outside")" ] || fail "$name: something outside changed"
	canary_untouched
}

fuzz "all layers"
fuzz "the first lock alone" --without namespaces,landlock
canary_stop
