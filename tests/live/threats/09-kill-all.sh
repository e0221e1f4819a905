#!/bin/bash
# Threat 9: kill(-1) and signals to process groups do not leave the run.
. "$(dirname "$0")/../lib.sh"
sleep 600 & canary=$!
hostile cases-threat killall
kill -0 "$canary" || fail "the canary is dead"
kill "$canary"
