#!/bin/bash
# Threat 13: int 0x80, x32 and 64-bit numbers with high bits.
. "$(dirname "$0")/../lib.sh"
hostile cases-threat arches
[ -z "$(ls "$T/w")" ] || fail "made: $(ls "$T/w")"
