#!/bin/bash
# Abstract names of unix sockets: natively, in a network namespace of the run's own, and in the table of a run without.
. "$(dirname "$0")/../lib.sh"

prepare()
{
	cp "$SRC/tests/cases/unix-names.py" "$1/names.py"
}

same names "$PYTHON" names.py
CG_OPTIONS=(--without netns)
same "names without a network namespace" "$PYTHON" names.py
