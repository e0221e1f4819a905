#!/bin/bash
# Threat 15: every refused call of the table, and every number that has no row.
. "$(dirname "$0")/../lib.sh"
hostile cases-threat refusals
hostile cases-threat sweep 0 1023
