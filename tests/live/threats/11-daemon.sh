#!/bin/bash
# Threat 11: daemons, new sessions, CLONE_PARENT: none survives the run.
. "$(dirname "$0")/../lib.sh"
mark=cg-mark-$$-$RANDOM
hostile cases-threat daemon "$mark"
gone() { [ -z "$(survivors "$mark")" ]; }
awaited gone || fail "survivors: $(survivors "$mark")"
