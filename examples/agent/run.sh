#!/bin/bash
# Runs the loop with the package of this source tree.
set -eu
cd "$(dirname "$0")"
export CALLGATE=${CALLGATE:-$(command -v "$PWD/../../build/callgate" || :)}
export PYTHONPATH=$PWD/../../python${PYTHONPATH:+:$PYTHONPATH} PYTHONDONTWRITEBYTECODE=1
exec "${PYTHON:-python3}" agent.py replies.json
