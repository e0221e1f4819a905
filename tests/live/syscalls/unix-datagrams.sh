#!/bin/bash
# Unix datagrams, which a policy may grant, are what they are natively; without the grant there are none.
. "$(dirname "$0")/../lib.sh"

prepare()
{
	cp "$SRC/tests/cases/unix-datagrams.py" "$1/datagrams.py"
}

echo '{"version": 1, "process": {"unix_datagrams": true}}' >"$T/datagrams.json"
CG_OPTIONS=(-p "$T/datagrams.json")
if [ -n "${OUTER_FILTER:-}" ]; then # no pidfd_getfd, so that not every message could be judged
	cg_run extended "${CG_OPTIONS[@]}" -- "$PYTHON" -c 'import socket; socket.socket(1, 2)' 2>"$T/err"
	grep -q PermissionError "$T/err" || fail "a datagram socket where messages are not judged: $(cat "$T/err")"
	exit $live_failed
fi
same datagrams "$PYTHON" datagrams.py
audit_has '.syscall == "sendto" and .path == "relative" and .verdict == "allow"'
audit_has '.syscall == "sendmsg" and (.path // "" | endswith("dir/absolute")) and .verdict == "allow"'
for without in netns mountns,netns,pidns; do
	CG_OPTIONS=(-p "$T/datagrams.json" --without "$without")
	same "datagrams without $without" "$PYTHON" datagrams.py
done
cg_run extended -- "$PYTHON" -c 'import socket; socket.socket(1, 2)' 2>"$T/err" && fail "a datagram socket unasked"
audit_has '.reason == "unix_datagram_not_offered"'
