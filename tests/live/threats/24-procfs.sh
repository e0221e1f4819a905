#!/bin/bash
# Threat 24: /proc shows nothing of other processes, and of a process itself only what is harmless.
. "$(dirname "$0")/../lib.sh"
sleep 600 & canary=$!
hostile cases-threat procfs "$canary" $$
kill "$canary"
