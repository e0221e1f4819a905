#!/bin/sh
# The groups out open openat2 of the differential test.
DIFF_GROUPS='out open openat2' exec bash "$(dirname "$0")/../diff.sh"
