#!/bin/bash
# Threat 10: file handles, also the kernel's own pidfd and nsfs ones.
. "$(dirname "$0")/../lib.sh"
hostile cases-threat handles
