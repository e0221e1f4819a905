#!/bin/bash
# SO_PEERCRED tells of each unix socket what it tells natively, with and without a network and a pid namespace.
. "$(dirname "$0")/../lib.sh"

prepare()
{
	cp "$SRC/tests/cases/unix-peers.py" "$1/peers.py"
}

same peers "$PYTHON" peers.py
audit_has '.syscall == "getsockopt" and .verdict == "allow"'
for without in netns pidns; do
	CG_OPTIONS=(--without "$without")
	same "peers without $without" "$PYTHON" peers.py
done
