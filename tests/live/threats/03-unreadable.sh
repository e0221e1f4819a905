#!/bin/bash
# Threat 3: a binary that cannot be read, a process whose memory cannot be read.
. "$(dirname "$0")/../lib.sh"
mkdir "$T/bin" && cp "$CASES/cases-threat" "$T/bin/prog" && chmod 0111 "$T/bin/prog"
CG_OPTIONS=(-x "$T/bin")
hostile cases-threat dumpable "$T/bin/prog" "$T/w/marker"
[ ! -e "$T/w/marker" ] || fail "the unreadable program ran"
