#!/bin/bash
# Threats 34-38 in a run that has a network: a process outside on the same machine cannot be reached, with a network
# namespace, without one, and where pidfd_getfd(2) is refused.
# shellcheck disable=SC2154 # tcp, udp, abstract: set by start_canary
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../net.sh"
need jq
mkdir "$T/w"
start_canary
net_policy '{"allow": [{"host": "some.test", "port": 443}], "listen": [8000]}'
printf '#!/bin/sh\nexec "%s" "%s" "$@"\n' "$CASES/cases-without" "$CALLGATE" >"$T/callgate"
chmod +x "$T/callgate"
mapfile -t sets < <(differing "" netns namespaces)
programs=("$CALLGATE")
[ -n "${OUTER_FILTER:-}" ] || programs+=("$T/callgate") # else it is refused to all runs
for program in "${programs[@]}"; do
	for without in "${sets[@]}"; do
		LIVE_WITHOUT=$without CALLGATE=$program net_run -x "$CASES/cases-threat" -w "$T/w" -- \
			"$CASES/cases-threat" network "$tcp" "$udp" >"$T/out" 2>&1 ||
			fail "${program##*/} without '$without': $(tail -n 15 "$T/out")"
		met_nobody
		audit_has '.syscall == "connect" and .verdict == "deny" and .port == '"$tcp"
	done
done
# They do reach it where callgate is not in the way: else the above would show nothing.
timeout 100 "$CASES/cases-threat" network "$tcp" "$udp" >"$T/out" 2>&1
met tcp
met udp
