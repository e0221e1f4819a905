#!/bin/bash
# Threat 42: newlines, escapes and invalid UTF-8: one attempt, one parseable line.
. "$(dirname "$0")/../lib.sh"
hostile cases-threat names
bad=$(jq -R 'try (fromjson | empty) catch "bad"' "$T/audit" 2>/dev/null | wc -l)
[ "$bad" = 0 ] || fail "$bad lines are no JSON"
found=$(jq -c 'select(.syscall == "openat" and (.path | startswith("/odd/")))' "$T/audit" | wc -l)
[ "$found" = 12 ] || fail "$found records, not 12"
LC_ALL=C grep -q "$(printf '[\001-\010\013-\037\177]')" "$T/audit" && fail "control characters in the log"
[ "$(jq -r 'select(.syscall == "openat") | .path' "$T/audit" | sort -u | wc -l)" -ge 12 ] || fail "paths were merged"
cg audit show "$T/audit" >"$T/shown" 2>&1 || fail "audit show: $(cat "$T/shown")"
LC_ALL=C grep -q "$(printf '[\001-\010\013-\037\177]')" "$T/shown" && fail "control characters in audit show"
true
