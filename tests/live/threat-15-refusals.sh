#!/bin/bash
# Threat 15: every refused call, and the numbers nobody knows (335 and 336 are uretprobe and uprobe, which filters never see).
. "$(dirname "$0")/lib.sh"
hostile cases-threat refusals
hostile cases-threat sweep 337 422
hostile cases-threat sweep 472 1023
