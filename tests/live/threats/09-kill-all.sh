#!/bin/bash
# Threat 9: kill(-1) and process groups end at the run's border.
. "$(dirname "$0")/../lib.sh"
sleep 600 & canary=$!
hostile cases-threat killall
kill -0 "$canary" || fail "the canary is dead"
kill "$canary"
