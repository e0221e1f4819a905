#!/bin/bash
# The memory limit also covers System V IPC, which belongs to no process. It is available where the kernel accounts for
# it, and absent where memory is sampled.
. "$(dirname "$0")/../lib.sh"
need jq
layer ipcns || skip "no ipc namespace here"
cat >"$T/ipc.py" <<'EOP'
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_void_p
libc.shmdt.argtypes = [ctypes.c_void_p]
taken = 0
for _ in range(40):
    shm = libc.shmget(0, 8 << 20, 0o600)
    if shm < 0:
        break
    at = libc.shmat(shm, None, 0)
    ctypes.memset(at, 1, 8 << 20)
    libc.shmdt(at)
    taken += 8
semaphores = 0
while semaphores < 100 and libc.semget(0, 32000, 0o600) >= 0:
    semaphores += 1
queues = 0
while queues < 100 and libc.msgget(0, 0o600) >= 0:
    queues += 1
print(taken, semaphores, queues, os.strerror(ctypes.get_errno()))
EOP
run() { cg_run python --json "$@" -r "$T/ipc.py" -- "$PYTHON" "$T/ipc.py" >"$T/json"; }
# without a limit it is what it is for
run
[ "$(jq -r '[.status, .stdout[0:7]] | join(" ")' "$T/json")" = 'ok 320 100' ] ||
	fail "without a limit: $(jq -c '[.status, .stdout]' "$T/json")"
run -m 100M --without cgroups
[ "$(jq -r '[.status, .stdout] | join(" ")' "$T/json")" = 'ok 0 0 0 Function not implemented' ] ||
	fail "with a limit that is sampled: $(jq -c '[.status, .stdout]' "$T/json")"
run -m 100M
case $(jq -r '[.status, .enforcement.cgroups.active, .limits.memory.hit] | join(" ")' "$T/json") in
"limit true true" | "ok false false") ;; # kept by the kernel; sampled, as above
*) fail "with a limit: $(jq -c '[.status, .stdout, .enforcement.cgroups, .limits.memory]' "$T/json")" ;;
esac
