#!/bin/bash
# Threat 36: an address in a message (sendmsg) reaches no process outside.
# shellcheck disable=SC2154 # tcp, udp, abstract: set by start_canary
. "$(dirname "$0")/../lib.sh"
mkdir "$T/w"
start_canary
hostile cases-threat messages "$tcp" "$udp" "$abstract"
met_nobody
# It would hear: else the above would show nothing.
(cd "$T/w" && "$CASES/cases-threat" messages "$tcp" "$udp" "$abstract") >"$T/out" 2>&1
met dgram
