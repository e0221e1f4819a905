#!/bin/bash
# Threat 29: preemption as in Go: a thread sends SIGURG to workers during their system calls.
. "$(dirname "$0")/../lib.sh"
hostile cases-threat sigurg "${STORM_SECONDS:-6}"
cat "$T/out"
