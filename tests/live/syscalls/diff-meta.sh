#!/bin/sh
# The groups meta watch of the differential test.
DIFF_GROUPS='meta watch' exec bash "$(dirname "$0")/../diff.sh"
