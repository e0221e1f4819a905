#!/bin/bash
# Errnos and small results that suites of other projects found to differ from the kernel's.
. "$(dirname "$0")/../lib.sh"
prepare()
{
	cp "$SRC/tests/cases/errnos.py" "$1"
}
LIVE_LINES=400 same errnos "$PYTHON" -u errnos.py
