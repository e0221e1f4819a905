#!/bin/sh
# The group sock of the differential test.
DIFF_GROUPS=sock exec bash "$(dirname "$0")/../diff.sh"
