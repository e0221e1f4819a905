#!/bin/bash
# Threat 39: unix sockets reach members of the run only, and only members reach them; no descriptor comes in.
# shellcheck disable=SC2154 # tcp, udp, abstract: set by start_canary
. "$(dirname "$0")/../lib.sh"
mkdir "$T/w"
start_canary
hostile cases-threat unix "$abstract"
met_nobody
audit_has '.reason == "unix_socket_not_granted" and .errno == "EACCES"'
audit_has '.syscall == "bind" and .verdict == "allow" and (.path | startswith("\u0000callgate-canary"))'
if ! layer netns; then # the kernel's names are the host's
	audit_has '.reason == "abstract_socket_not_granted" and .syscall == "connect"'
	audit_has '.reason == "abstract_socket_not_granted" and .syscall == "listen"'
fi
# The outsider does get at sockets: else the above would show nothing.
(cd "$T/w" && "$CASES/cases-threat" unix "$abstract") >"$T/out" 2>&1
for what in stream seqpacket 'abstract stream' 'connected to the program' 'connected to an abstract name'; do
	met "$what"
done
# A thousand that wait for room in one queue do not hold up others.
hostile cases-threat crowd "${LIVE_CROWD:-1000}"
