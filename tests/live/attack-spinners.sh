#!/bin/bash
# However many of its processes compute, a run ends when its time is over: the supervisor keeps a processor's share of its own.
. "$(dirname "$0")/lib.sh"
spin='i=0; while [ $i -lt 300 ]; do (while :; do :; done) & i=$((i + 1)); done; wait'
began=$(date +%s%N)
LIVE_TIMEOUT=60 cg_run minimal -t 3 --pids 400 -x /bin/sh -- /bin/sh -c "$spin" >"$T/out" 2>"$T/err"
status=$?
took=$((($(date +%s%N) - began) / 1000000))
echo "ended with $status after $took ms"
[ "$took" -ge 3000 ] || fail "it ended before its time: $(cat "$T/err")"
[ "$took" -lt 9000 ] || fail "3 s became $took ms"
exit 0
