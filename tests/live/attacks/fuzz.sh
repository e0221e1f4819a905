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
mkdir -m 755 "$T/outside"
echo canary >"$T/outside/canary"
before=$(tree "$T/outside")
canary_start

# fuzz NAME OPTION…: longer on a busy machine, on which there are few samples in that time.
fuzz()
{
	local length
	for length in "$seconds" $((seconds * 3)) $((seconds * 9)); do
		fuzz_for "$length" "$@"
		[ "$(id -u)" = 0 ] || break # only root can sample
		[ "$(wc -l <"$T/samples")" -lt $WATCH_LEAST ] || break
	done
	watch_flat "$1" "$T/samples" 6000 100
}

# fuzz_for SECONDS NAME OPTION…
fuzz_for()
{
	local seconds=$1 name=$2 top status
	local LIVE_TIMEOUT=$((seconds + 100))
	shift 2
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
	[ "$before" = "$(tree "$T/outside")" ] || fail "$name: something outside changed"
	canary_untouched
}

fuzz "all layers"
fuzz "the first lock alone" --without namespaces,landlock
canary_stop
