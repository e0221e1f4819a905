#!/bin/bash
# Threat 1: children that a tracer might lose, namespaces, clone3.
. "$(dirname "$0")/../lib.sh"
mkdir "$T/denied" && cp "$CASES/cases-threat" "$T/denied/prog"
CG_OPTIONS=(-r "$T/denied")
hostile cases-threat clone "$T/denied/prog" "$T/w/marker"
[ ! -e "$T/w/marker" ] || fail "the denied program ran"
audit_has '(.syscall == "execve" or .syscall == "execveat") and .verdict == "deny"'
