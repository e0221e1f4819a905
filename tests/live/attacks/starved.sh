#!/bin/bash
# A thread of the lowest priority on a busy CPU. Injected system calls in it (for O_PATH) take long, which is not taken
# for an attack, and does not keep the supervisor from checking the limits.
. "$(dirname "$0")/../lib.sh"
need jq
mkdir -p "$T/w"
cat >"$T/starved.py" <<'EOP'
import mmap, os, signal, sys, time
cpu = {min(os.sched_getaffinity(0))}
hogs = []
for _ in range(5):
    hogs.append(os.fork())
    if not hogs[-1]:
        os.sched_setaffinity(0, cpu)
        while True:
            pass
starved = os.fork()
if not starved:
    os.sched_setaffinity(0, cpu)
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    end = time.monotonic() + (3 if sys.argv[1] == "live" else 60)
    while time.monotonic() < end:
        os.close(os.open("/tmp", os.O_PATH))
    os._exit(0)
if sys.argv[1] == "live":
    print(os.waitstatus_to_exitcode(os.waitpid(starved, 0)[1]), flush=True)
else:
    time.sleep(1)
    took = []
    while len(took) < 400:
        took.append(mmap.mmap(-1, 1 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))
        took[-1].write(b"x" * (1 << 20))
        time.sleep(0.01)
    print("got all", flush=True)
for hog in hogs:
    os.kill(hog, signal.SIGKILL)
EOP
run() { cg_run python --json "$@" -r "$T/starved.py" -w "$T/w" -- "$PYTHON" "$T/starved.py" "$mode" >"$T/json"; }
mode=live
run
[ "$(jq -r .stdout "$T/json")" = 0 ] || fail "the starved task ended with $(jq -c '[.status, .stdout,
	.stderr]' "$T/json")"
mode=greedy
run --without cgroups -m 100M
jq -e '.status == "limit" and .limits.memory.hit' "$T/json" >/dev/null ||
	fail "a limit beside it: $(jq -c '[.status, .stdout, .stderr, .limits.memory]' "$T/json")"
