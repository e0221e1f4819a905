#!/bin/bash
# Starts the server as client.json says, and talks to it.
set -eu
cd "$(dirname "$0")"
# client.json finds the program in PATH
command -v callgate >/dev/null || PATH=$PWD/../../build:$PATH
exec "${PYTHON:-python3}" talk.py client.json
