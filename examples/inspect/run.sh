#!/bin/bash
# Runs the evaluation with the package of this source tree. Its log goes to a directory that is removed.
set -eu
cd "$(dirname "$0")"
export PYTHONPATH=$PWD/../../python${PYTHONPATH:+:$PYTHONPATH} PYTHONDONTWRITEBYTECODE=1
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
"${PYTHON:-python3}" evaluation.py "$logs"
