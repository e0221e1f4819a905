#!/bin/bash
# However many of its processes compute, a run ends when its time is over: the supervisor keeps a processor's share of its own.
. "$(dirname "$0")/lib.sh"
spin='import os
reader, writer = os.pipe()
for i in range(300):
    if os.fork() == 0:
        os.close(writer)
        os.read(reader, 1)  # until all are there
        while True:
            pass
os.close(writer)
while True:
    pass'
began=$(date +%s%N)
LIVE_TIMEOUT=60 cg_run python -t 3 --pids 400 -- "$PYTHON" -c "$spin" >"$T/out" 2>"$T/err"
status=$?
took=$((($(date +%s%N) - began) / 1000000))
echo "ended with $status after $took ms"
[ "$took" -ge 3000 ] || fail "it ended before its time: $(cat "$T/err")"
[ "$took" -lt 9000 ] || fail "3 s became $took ms"
exit 0
