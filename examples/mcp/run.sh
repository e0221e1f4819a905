#!/bin/bash
# Starts the server as client.json says, and talks to it.
set -eu
cd "$(dirname "$0")"
exec "${PYTHON:-python3}" talk.py client.json
