#!/bin/bash
# Threat 26: no metadata changes through read-only descriptors.
. "$(dirname "$0")/../lib.sh"
mkdir "$T/ro"
echo read-only >"$T/ro/file"
"$PYTHON" -c 'import os, sys; os.setxattr(sys.argv[1], "user.old", b"1")' "$T/ro/file" 2>/dev/null
state()
{
	stat -c '%n %a %u %g %Y %s %h' "$T/ro" "$T/ro/file"
	cat "$T/ro/file"
	getfattr -d "$T/ro/file" 2>/dev/null
	lsattr -d "$T/ro" "$T/ro/file" 2>/dev/null
}
state >"$T/before"
CG_OPTIONS=(-r "$T/ro")
hostile cases-threat metadata "$T/ro/file" "$T/ro"
state >"$T/after"
cmp "$T/before" "$T/after" || fail "$(diff "$T/before" "$T/after")"
