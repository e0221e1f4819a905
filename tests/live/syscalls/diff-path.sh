#!/bin/sh
# The groups path of the differential test.
DIFF_GROUPS='path' exec bash "$(dirname "$0")/../diff.sh"
