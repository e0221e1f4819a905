#!/bin/bash
# Threat 31: the file descriptor table is full: EMFILE.
. "$(dirname "$0")/../lib.sh"
hostile cases-threat full
