#!/bin/bash
# Threat 34: MSG_FASTOPEN connects without connect(2).
# shellcheck disable=SC2154 # tcp, udp, abstract: set by start_canary
. "$(dirname "$0")/../lib.sh"
mkdir "$T/w"
start_canary
hostile cases-threat fastopen "$tcp"
met_nobody
# The attempt does reach it where callgate is not in the way: else the above would show nothing.
"$CASES/cases-threat" fastopen "$tcp" >"$T/out" 2>&1
met tcp
