#!/bin/bash
# Threat 28: sixty-four processes wait in an open; the others go on.
. "$(dirname "$0")/../lib.sh"
hostile cases-threat fifos 64
