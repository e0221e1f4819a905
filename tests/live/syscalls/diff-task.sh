#!/bin/sh
# The groups proc fifo task race of the differential test.
DIFF_GROUPS='proc fifo task race' exec bash "$(dirname "$0")/../diff.sh"
