#!/bin/bash
# Runs the evaluation with the package of this source tree. Its log goes to a directory that is removed.
set -eu
cd "$(dirname "$0")"
"${PYTHON:-python3}" -c 'from importlib.util import find_spec as f; raise SystemExit(f("inspect_ai") is None)' || {
	echo "examples/inspect: ${PYTHON:-python3} has no package inspect_ai: pip install inspect-ai" >&2
	exit 1
}
export CALLGATE=${CALLGATE:-$(command -v "$PWD/../../build/callgate" || :)}
export PYTHONPATH=$PWD/../../python${PYTHONPATH:+:$PYTHONPATH} PYTHONDONTWRITEBYTECODE=1
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
"${PYTHON:-python3}" evaluation.py "$logs"
