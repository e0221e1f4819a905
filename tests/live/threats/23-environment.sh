#!/bin/bash
# Threat 23: the caller's environment is nowhere to be read.
. "$(dirname "$0")/../lib.sh"
export CG_TEST_SECRET=the-secret-of-the-caller
hostile cases-threat environ "the-secret-of-the""-caller"
grep -q the-secret-of-the-caller "$T/out" && fail "printed: $(cat "$T/out")"
true
