#!/bin/bash
# A number that another thread gives a new meaning (dup2) while /proc/self/fd/N is opened: nothing becomes writable by
# it.
. "$(dirname "$0")/../lib.sh"
echo original >"$T/readonly"
chmod 644 "$T/readonly"
CG_OPTIONS=(-r "$T/readonly")
hostile cases-attack reopen "$T/readonly" 5
[ "$(cat "$T/readonly")" = original ] || fail "it was written"
[ "$(stat -c %a "$T/readonly")" = 644 ] || fail "its mode changed"
