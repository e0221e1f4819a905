#!/bin/bash
# Runs the snippets with the package of this source tree.
set -eu
cd "$(dirname "$0")"
export PYTHONPATH=$PWD/../../python${PYTHONPATH:+:$PYTHONPATH} PYTHONDONTWRITEBYTECODE=1
exec "${PYTHON:-python3}" snippets.py
