#!/bin/bash
# Threat 14: bits above the 31st do not slip a narrow argument past the filter.
. "$(dirname "$0")/../lib.sh"
hostile cases-threat highbits
