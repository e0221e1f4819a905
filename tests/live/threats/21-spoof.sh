#!/bin/bash
# Threat 21: names that lie: mounts, deleted directories, '(deleted)'.
. "$(dirname "$0")/../lib.sh"
hostile cases-threat spoof
