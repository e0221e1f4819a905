#!/bin/bash
# A run with more processes than callgate may have file descriptors: their system calls still work.
. "$(dirname "$0")/../lib.sh"
ulimit -n 300 || skip "no limit of 300 open files can be set"
hostile cases-attack crowd 400
exit 0
