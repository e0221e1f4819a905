#!/bin/bash
# Threat 22: hard links and renames give nothing a second, more powerful name.
. "$(dirname "$0")/lib.sh"
mkdir -p "$T/w/locked"
echo the-secret >"$T/w/locked/secret"
echo read-only >"$T/readonly"
chmod 666 "$T/readonly"
cat >"$T/policy.json" <<EOF
{"version": 1, "name": "alias", "extends": ["minimal"],
 "filesystem": {"read": ["$T/readonly"], "exec": ["$CASES/cases-threat"], "deny": ["$T/w/locked/secret"]}}
EOF
cg run -p "$T/policy.json" -w "$T/w" --audit "$T/audit" -- "$CASES/cases-threat" alias "$T/readonly" "$T/w/locked" >"$T/out" 2>&1 ||
	fail "alias: $(cat "$T/out")"
[ "$(cat "$T/readonly"; stat -c %h "$T/readonly")" = "$(printf 'read-only\n1')" ] || fail "the read-only file changed"
[ "$(cat "$T/w/locked/secret"; stat -c %h "$T/w/locked/secret")" = "$(printf 'the-secret\n1')" ] || fail "the denied file changed"
