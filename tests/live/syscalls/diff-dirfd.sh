#!/bin/sh
# The groups dirfd of the differential test.
DIFF_GROUPS='dirfd' exec bash "$(dirname "$0")/../diff.sh"
