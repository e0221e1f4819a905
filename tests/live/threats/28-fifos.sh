#!/bin/bash
# Threat 28: sixty-four processes block in open(2); the others go on.
. "$(dirname "$0")/../lib.sh"
hostile cases-threat fifos 64
