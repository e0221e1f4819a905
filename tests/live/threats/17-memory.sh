#!/bin/bash
# Threat 17, 18: rights of pages hold; pages that stall a reader do not exist.
. "$(dirname "$0")/../lib.sh"
hostile cases-threat memory
