#!/bin/bash
# Threat 36, incoming: a UDP socket that was bound without a granted bind(2) receives nothing; a granted one does.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../net.sh"
need jq
net_servers udp
udp=$(net_port udp)
port=$(net_free_port DGRAM)
net_policy "{
	\"allow\": [{\"host\": \"echo.test\", \"port\": $udp, \"proto\": \"udp\", \"private\": true}],
	\"resolve\": {\"echo.test\": \"127.0.0.1\"}, \"listen\": [$port]}"
cp "$SRC/tests/cases/threat-datagrams.py" "$T/home/case.py"

own_netns()
{
	net_run --json -- true | jq -e .enforcement.netns.active >/dev/null
}

for LIVE_WITHOUT in "" netns namespaces; do
	want="got granted
done"
	[ -z "${OUTER_FILTER:-}" ] || want="no UDP" # without pidfd_getfd
	own_netns && want="done"
	rm -f "$T/home/ports" "$T/home/sent"
	timeout 300 "$PYTHON" "$T/home/case.py" outside "$T/home" "$port" >"$T/outside" 2>&1 &
	live_kept+=($!)
	(cd "$T/home" && net_run -W "$T/home" -w "$T/home" -- "$PYTHON" case.py inside "$udp" "$port") >"$T/out" 2>&1
	[ "$(cat "$T/out")" = "$want" ] || fail "without '$LIVE_WITHOUT': $(cat "$T/out" "$T/outside"); wanted: $want"
done
