#!/bin/bash
# Threat 35: multipath TCP and similar protocols, and listen(2) without bind(2).
. "$(dirname "$0")/../lib.sh"
hostile cases-threat mptcp
