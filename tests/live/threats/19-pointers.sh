#!/bin/sh
# Threat 19: odd pointers and lengths give the errno of the kernel.
DIFF_GROUPS='pointers' exec bash "$(dirname "$0")/../diff.sh"
