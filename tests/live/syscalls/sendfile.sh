#!/bin/bash
# Where memory is sampled the supervisor copies for sendfile(2) to a non-blocking TCP socket. A slow file (here on a
# FUSE file system that answers a read after two seconds) delays only the thread that sends it, and no other call of the
# run.
if [ "$(id -u)" = 0 ] && [ -z "${SENDFILE_INSIDE:-}" ] && unshare --mount true 2>/dev/null; then
	SENDFILE_INSIDE=1 exec unshare --mount bash "$0" # what it mounts goes with it
fi
. "$(dirname "$0")/../lib.sh"
need jq
[ -x "$PYTHON" ] || skip "no $PYTHON"
[ -n "${SENDFILE_INSIDE:-}" ] || skip "only root can mount a file system of its own"
[ -c /dev/fuse ] || skip "no /dev/fuse"

port=$("$PYTHON" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
printf '{"version": 1, "extends": ["extended"], "network": {"listen": [%s]}}' "$port" >"$T/tcp.json"
mkdir "$T/w" "$T/slow"
"$PYTHON" "$SRC/tests/cases/slow-fs.py" "$T/slow" 2 >"$T/fs" 2>&1 &
fs=$!
is_ready_or_ended() { has_line "$T/fs" ready || dead "$fs"; }
awaited is_ready_or_ended
grep -q ready "$T/fs" || {
	umount "$T/slow" 2>/dev/null
	skip "FUSE cannot be mounted: $(tail -n 1 "$T/fs")"
}
cat >"$T/w/send.py" <<'EOF2'
import os, socket, sys, threading, time
address = ("127.0.0.1", int(sys.argv[1]))
expected = bytes(i * 7 % 251 for i in range(100000))
listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.bind(address)
listener.listen(1)
sender = socket.create_connection(address)
got = listener.accept()[0]
sender.setblocking(False)
file = os.open(sys.argv[2], os.O_RDONLY)
result = []
def send():
    sent = 0
    while sent < len(expected):
        sent += os.sendfile(sender.fileno(), file, sent if sys.argv[3] == "pointer" else None, 1 << 20)
    result.append(sent)
thread = threading.Thread(target=send)
begun = time.monotonic()
thread.start()
longest = 0
while thread.is_alive():
    before = time.monotonic()
    os.stat("/")
    longest = max(longest, time.monotonic() - before)
    time.sleep(0.01)
took = time.monotonic() - begun
data = b""
while len(data) < len(expected):
    data += got.recv(1 << 20)
print(data == expected, took > 1.5, longest < took / 2, os.lseek(file, 0, os.SEEK_CUR))
print("took %.2f, longest stat %.3f" % (took, longest), file=sys.stderr)
EOF2
LIVE_WITHOUT=cgroups
for how in pointer place; do
	cg run --json -p "$T/tcp.json" -m 256M -r "$T/slow" -w "$T/w" \
		-- "$PYTHON" -B "$T/w/send.py" "$port" "$T/slow/file" "$how" \
		>"$T/result" 2>"$T/err"
	echo "$how: $(jq -c '[.stdout, .stderr]' "$T/result")"
	[ $how = pointer ] && at=0 || at=100000
	jq -e --arg out "True True True $at"$'\n' '.status == "ok" and .stdout == $out' "$T/result" >/dev/null ||
		fail "$how: $(jq -c '[.status, .exit_code, .stdout, .stderr, .error]' "$T/result") $(cat "$T/err")"
done
umount "$T/slow"
wait "$fs"
