#!/bin/bash
# Threat 39 where the policy grants unix datagrams: none leaves the run, none comes in, whatever changes meanwhile.
# shellcheck disable=SC2154 # abstract: set by start_canary
. "$(dirname "$0")/../lib.sh"
[ -z "${OUTER_FILTER:-}" ] || skip "no pidfd_getfd(2): there are no datagram sockets (syscalls/unix-datagrams.sh)"
mkdir "$T/w"
start_canary
echo '{"version": 1, "process": {"unix_datagrams": true}}' >"$T/none.json"
cat >"$T/network.json" <<'EOF'
{"version": 1, "process": {"unix_datagrams": true}, "network": {"allow": [{"host": "name.test"}]}}
EOF
for run in none none:netns none:namespaces network network:netns; do
	without=${run#"${run%%:*}"}
	CG_OPTIONS=(-p "$T/${run%%:*}.json" ${without:+--without "${without#:}"})
	hostile cases-threat datagrams "$abstract"
	met_nobody
	audit_has '.syscall == "sendmsg" and .path == "dgram" and .reason == "unix_socket_not_granted"'
done
# The outsider does hear: else the above would show nothing.
(cd "$T/w" && "$CASES/cases-threat" datagrams "$abstract") >"$T/out" 2>&1
for what in dgram 'abstract dgram' 'connected to the program' 'connected to an abstract name'; do
	met "$what"
done
