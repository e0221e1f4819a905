#!/bin/sh
# The groups pair of the differential test.
DIFF_GROUPS='pair' exec bash "$(dirname "$0")/../diff.sh"
