#!/bin/bash
# Threat 44: ptrace(2) among the run's processes.
. "$(dirname "$0")/../lib.sh"
echo secret >"$T/denied"
hostile cases-threat ptrace "$T/denied" "$CASES/cases-threat"
audit_has '.syscall == "ptrace" and .verdict == "allow"'
audit_has '.syscall == "execve" and .reason == "exec_of_traced" and .errno == "EPERM"'
judged record && audit_has '.syscall == "openat" and .reason == "traced" and .errno == "EPERM"'

# The run ends by itself, and by its limit, whatever state tracees are in.
LIVE_TIMEOUT=30
start=$(now_ms)
hostile cases-threat traced-end "$CASES/cases-threat"
CG_OPTIONS=(-t 2)
HOSTILE_STATUS=124 hostile cases-threat traced-end "$CASES/cases-threat" stay
took=$(($(now_ms) - start))
[ $took -lt 15000 ] || fail "two runs took $took ms to end"
[ -z "$(survivors "$T/w")" ] || fail "processes survive"

mkdir "$T/no" && cp "$CASES/cases-threat" "$T/no/prog"
CG_OPTIONS=(-r "$T/no")
hostile cases-threat ptrace-storm "$CASES/cases-threat" "$T/no/prog" "$T/w/marker"
[ ! -e "$T/w/marker" ] || fail "the denied program ran"
CG_OPTIONS=(--without "userns,mountns,pidns,ipcns,utsns,netns,cgroupns,landlock")
hostile cases-threat unbounded
audit_has '.syscall == "ptrace" and .reason == "trace_not_bounded"'
