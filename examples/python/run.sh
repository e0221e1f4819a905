#!/bin/bash
# Runs both programs with the package of this source tree.
set -eu
cd "$(dirname "$0")"
export CALLGATE=${CALLGATE:-$(command -v "$PWD/../../build/callgate" || :)}
export PYTHONPATH=$PWD/../../python${PYTHONPATH:+:$PYTHONPATH} PYTHONDONTWRITEBYTECODE=1
for program in quickstart.py executor.py; do
	"${PYTHON:-python3}" "$program"
done
