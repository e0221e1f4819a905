#!/bin/bash
# Threat 29: storms of signals: no call is performed twice, nothing hangs, no EINTR.
. "$(dirname "$0")/../lib.sh"
hostile cases-threat signals "${STORM_SECONDS:-6}"
cat "$T/out"
