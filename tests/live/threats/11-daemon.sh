#!/bin/bash
# Threat 11: daemons, new sessions, CLONE_PARENT: none survives the run.
. "$(dirname "$0")/../lib.sh"
mark=cg-mark-$$-$RANDOM
hostile cases-threat daemon "$mark"
[ -z "$(survivors "$mark")" ] || { sleep 0.5; [ -z "$(survivors "$mark")" ] || fail "survivors: $(survivors "$mark")"; }
