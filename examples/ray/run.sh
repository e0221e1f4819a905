#!/bin/bash
# Runs the snippets with the package of this source tree.
set -eu
cd "$(dirname "$0")"
"${PYTHON:-python3}" -c 'from importlib.util import find_spec as f; raise SystemExit(f("ray") is None)' || {
	echo "examples/ray: ${PYTHON:-python3} has no package ray: pip install ray" >&2
	exit 1
}
export CALLGATE=${CALLGATE:-$(command -v "$PWD/../../build/callgate" || :)}
export PYTHONPATH=$PWD/../../python${PYTHONPATH:+:$PYTHONPATH} PYTHONDONTWRITEBYTECODE=1
exec "${PYTHON:-python3}" snippets.py
