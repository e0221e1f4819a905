#!/bin/bash
# Threat 25: a read-only descriptor does not become a writable one.
. "$(dirname "$0")/../lib.sh"
echo read-only >"$T/readonly"
chmod 666 "$T/readonly"
CG_OPTIONS=(-r "$T/readonly")
hostile cases-threat reopen "$T/readonly"
[ "$(cat "$T/readonly")" = read-only ] || fail "it was written"
[ "$(stat -c %a "$T/readonly")" = 666 ] || fail "its mode changed"
