#!/bin/bash
# Threat 31: no room for the descriptor: EMFILE.
. "$(dirname "$0")/../lib.sh"
hostile cases-threat full
