#!/bin/bash
# Threat 29: Go's preemption: a thread shoots SIGURG at workers in the middle of their calls.
. "$(dirname "$0")/../lib.sh"
hostile cases-threat sigurg "${STORM_SECONDS:-6}"
cat "$T/out"
