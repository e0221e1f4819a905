#!/bin/bash
# Threat 29: storms of signals: nothing is done twice, nothing hangs, no EINTR with SA_RESTART.
. "$(dirname "$0")/lib.sh"
hostile cases-threat signals "${STORM_SECONDS:-6}"
cat "$T/out"
