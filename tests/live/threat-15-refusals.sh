#!/bin/bash
# Threat 15: every refused call, and the numbers nobody knows.
. "$(dirname "$0")/lib.sh"
hostile cases-threat refusals
hostile cases-threat sweep 336 422
hostile cases-threat sweep 472 1023
