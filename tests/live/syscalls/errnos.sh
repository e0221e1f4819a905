#!/bin/bash
# Errnos and small results that suites of other projects found to differ from the kernel's.
. "$(dirname "$0")/../lib.sh"
prepare()
{
	cp "$SRC/tests/cases/errnos.py" "$1"
}
LIVE_LINES=400 same errnos "$PYTHON" -u errnos.py

# With a network there are sockets of other families, and the supervisor's own filter is another one.
mkdir "$T/n"
prepare "$T/n"
for LIVE_WITHOUT in "" namespaces; do
	(cd "$T/n" && "$PYTHON" -u errnos.py families) >"$T/native"
	cg_run extended --listen '*' -w "$T/n" -- "$PYTHON" -u errnos.py families >"$T/out" 2>&1
	diff "$T/native" "$T/out" >&2 || fail "'$LIVE_WITHOUT' with a network: natively (<) and inside (>)"
done
