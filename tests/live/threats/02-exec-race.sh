#!/bin/bash
# Threat 2: the file changes between the verdict and the exec.
. "$(dirname "$0")/../lib.sh"
mkdir "$T/denied" "$T/bin" && cp "$CASES/cases-threat" "$T/denied/prog" && cp /bin/true "$T/bin/a"
ln "$T/denied/prog" "$T/bin/plain-name" 2>/dev/null
rm -f "$T/bin/plain-name"
ln -s "$T/denied/prog" "$T/bin/b"
CG_OPTIONS=(-r "$T/denied" -W "$T/bin" -x "$T/bin")
hostile cases-threat exec-race "$T/bin/a" "$T/bin/a" "$T/bin/b" "$T/w/marker"
[ ! -e "$T/w/marker" ] || fail "the denied program ran"
