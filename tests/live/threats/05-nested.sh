#!/bin/bash
# Threat 5: filters below ours: a second listener is refused, the policy still holds.
. "$(dirname "$0")/../lib.sh"
echo the-secret >"$T/secret"
hostile cases-threat nested "$T/secret"
[ ! -d /outside ] || fail "mkdir /outside"
