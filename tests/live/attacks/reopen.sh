#!/bin/bash
# Another thread replaces a file descriptor by dup2(2) while /proc/self/fd/N is opened: no file becomes writable by
# that.
. "$(dirname "$0")/../lib.sh"
echo original >"$T/readonly"
chmod 644 "$T/readonly"
CG_OPTIONS=(-r "$T/readonly")
hostile cases-attack reopen "$T/readonly" 5
[ "$(cat "$T/readonly")" = original ] || fail "it was written"
[ "$(stat -c %a "$T/readonly")" = 644 ] || fail "its mode changed"
