#!/bin/bash
# Internet sockets on loopback behave inside as natively: with a network namespace, without one, and where
# pidfd_getfd(2) is refused.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../net.sh"
need jq
net_policy '{"allow": [], "listen": ["*"]}'
printf '#!/bin/sh\nexec "%s" "%s" "$@"\n' "$CASES/cases-without" "$CALLGATE" >"$T/callgate"
chmod +x "$T/callgate"

# differs NAME WITHOUT CALLGATE
differs()
{
	local name=$1 without=$2 program=$3
	set --
	# Without a namespace a socket of UDP has a filter, which is put on a duplicate, so it needs pidfd_getfd.
	if [ "$program" != "$CALLGATE" ] || [ -n "${OUTER_FILTER:-}" ]; then set -- streams; fi
	# Datagrams from member to member are for a namespace of the run's own.
	LIVE_WITHOUT=$without CALLGATE=$program net_run --json -- true | jq -e .enforcement.netns.active >/dev/null &&
		set -- udp
	timeout 120 "$CASES/cases-inet" "$@" >"$T/native.out" 2>&1 ||
		fail "$name: natively: $(tail -n 3 "$T/native.out")"
	LIVE_WITHOUT=$without CALLGATE=$program net_run -x "$CASES/cases-inet" -- "$CASES/cases-inet" "$@" \
		>"$T/inside.out" 2>&1 ||
		fail "$name: inside: $(tail -n 3 "$T/inside.out")"
	compare "$name" out
}

differs "own network namespace" "" "$CALLGATE"
differs "without netns" netns "$CALLGATE"
differs "without namespaces" namespaces "$CALLGATE"
differs "own network namespace, no pidfd_getfd" "" "$T/callgate"
differs "without netns, no pidfd_getfd" netns "$T/callgate"
