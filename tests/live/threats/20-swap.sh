#!/bin/bash
# Threat 20: symbolic links, renames and ".." are exchanged while paths are resolved: nothing outside is seen or
# touched.
. "$(dirname "$0")/../lib.sh"
mkdir "$T/outside"
echo the-secret >"$T/outside/secret"
echo victim >"$T/outside/victim"
touch "$T/outside/only-outside"
tree "$T/outside" >"$T/before"
hostile cases-threat swap "${SWAP_SECONDS:-5}" "$T/outside"
tree "$T/outside" >"$T/after"
cmp "$T/before" "$T/after" || fail "the outside changed"
