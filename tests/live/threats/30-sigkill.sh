#!/bin/bash
# Threat 30: processes die during system calls: no other process gets their results.
. "$(dirname "$0")/../lib.sh"
hostile cases-threat sigkill "${KILL_SECONDS:-5}"
