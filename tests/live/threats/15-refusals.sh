#!/bin/bash
# Threat 15: every refused row of the table, and every number without a row.
. "$(dirname "$0")/../lib.sh"
hostile cases-threat refusals
hostile cases-threat sweep 0 1023
