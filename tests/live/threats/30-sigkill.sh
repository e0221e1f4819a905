#!/bin/bash
# Threat 30: processes die in the middle of calls: nobody else gets what was theirs.
. "$(dirname "$0")/../lib.sh"
hostile cases-threat sigkill "${KILL_SECONDS:-5}"
