#!/bin/bash
# Threat 38: an address is refused in every form.
# shellcheck disable=SC2154 # tcp, udp, abstract: set by start_canary
. "$(dirname "$0")/../lib.sh"
mkdir "$T/w"
start_canary
hostile cases-threat addresses "$tcp"
met_nobody
