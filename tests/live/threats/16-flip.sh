#!/bin/bash
# Threat 16: a thread, or a process with shared memory, flips a path between allowed and denied while it is opened.
. "$(dirname "$0")/../lib.sh"
mkdir "$T/w" "$T/s"
echo allowed >"$T/w/file"
echo the-secret >"$T/s/file"
LIVE_TIMEOUT=$((${FLIP_SECONDS:-5} + 40))
hostile cases-threat flip "${FLIP_SECONDS:-5}" "$T/w/file" "$T/s/file"
cat "$T/out"
hostile cases-threat flip-shared "${FLIP_SECONDS:-5}" "$T/w/file" "$T/s/file"
cat "$T/out"
[ "$(cat "$T/s/file")" = the-secret ] || fail "the secret was written"
