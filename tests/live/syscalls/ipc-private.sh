#!/bin/bash
# System V IPC and POSIX message queues are private to a run with an ipc namespace, and absent in others. /dev/shm is
# always private.
. "$(dirname "$0")/../lib.sh"
cp "$SRC/tests/cases/ipc.py" "$T/ipc.py"
mkdir "$T/w" "$T/w2"

# The outsider's objects, under the names the program looks for: in namespaces of their own where these can be had, as
# this test may run twice, and others have files in /dev/shm.
outside=("$PYTHON" "$T/ipc.py")
apart=(unshare --ipc --mount)
[ "$(id -u)" = 0 ] || apart+=(--map-root-user)
# shellcheck disable=SC2016 # the inner shell's
apart+=(sh -c 'mount -t tmpfs -o mode=1777 shm /dev/shm && exec "$@"' sh)
"${apart[@]}" true 2>/dev/null && outside=("${apart[@]}" "${outside[@]}")

inside()
{
	cg_run extended ${CG_OPTIONS[@]+"${CG_OPTIONS[@]}"} -r "$T/ipc.py" -w "$T/w" -- "$PYTHON" "$T/ipc.py" "$@"
}

inside look callgate-held >"$T/out" 2>&1 || fail "at first: $(cat "$T/out")"
private=$(jq -r 'select(.type == "header") | .layers.ipcns.active' "$T/audit")
if [ "$private" = true ]; then
	inside use >"$T/out" 2>&1 || fail "use: $(cat "$T/out")"
	"${outside[@]}" use >"$T/native" 2>&1
	cmp -s "$T/native" "$T/out" || [ ! -w /dev/shm ] || [ -n "$(ls /dev/shm)" ] ||
		fail "use: $(diff "$T/native" "$T/out")"
	grep -q 'posix message: b.posix' "$T/out" || fail "use: $(cat "$T/out")"
else
	inside absent >"$T/out" 2>&1 || fail "absent: $(cat "$T/out")"
	audit_has '.syscall == "shmget" and .errno == "ENOSYS"'
fi
grep -q "sem_open: \\['sem.callgate'\\]" "$T/out" || fail "named semaphores: $(cat "$T/out")"

# Without the namespace they are refused, each on record.
CG_OPTIONS=(--without ipcns)
inside absent >"$T/out" 2>&1 || fail "without ipcns: $(cat "$T/out")"
for name in shmget semget msgget shmctl mq_open mq_unlink; do
	audit_has ".syscall == \"$name\" and .verdict == \"deny\" and .errno == \"ENOSYS\""
done

CG_OPTIONS=()

# Of two runs at once neither sees the other's, nor does anybody outside; and nothing is left.
mkfifo "$T/go"
(timeout -k 5 "$LIVE_TIMEOUT" "$CALLGATE" run --profile extended -i -r "$T/ipc.py" -w "$T/w2" -- \
	"$PYTHON" "$T/ipc.py" hold <"$T/go" >"$T/held" 2>&1) &
exec 9>"$T/go"
awaited has_line "$T/held" holding || fail "it does not hold: $(cat "$T/held")"
inside look callgate-held >"$T/out" 2>&1 || fail "the other run: $(cat "$T/out")"
[ ! -e /dev/shm/callgate-held ] || fail "/dev/shm of the run is the machine's"
# 0xca11
[ -n "$(awk '$1 == 51729' /proc/sysvipc/{shm,sem,msg})" ] && fail "System V objects of a run are outside"
exec 9>&-
wait
[ -z "$(find "$T/tmp" -name callgate-held 2>/dev/null)" ] || fail "left behind: $(find "$T/tmp" -name callgate-held)"
true
