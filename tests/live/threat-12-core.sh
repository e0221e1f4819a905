#!/bin/bash
# Threat 12: no core file, whatever the caller's limit says.
. "$(dirname "$0")/lib.sh"
ulimit -c unlimited 2>/dev/null
HOSTILE_STATUS=134
hostile cases-threat core
[ -z "$(find "$T/w" -name 'core*')" ] || fail "a core file"
