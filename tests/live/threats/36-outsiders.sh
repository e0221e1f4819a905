#!/bin/bash
# Threat 36: on a shared loopback no other user can pose as the run's DNS server, as an endpoint or as the program, and
# ICMP errors carry nothing in.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../net.sh"
need jq
net_servers udp echo
udp=$(net_port udp)
echo=$(net_port echo)
inside_udp=$udp
[ -z "${OUTER_FILTER:-}" ] || inside_udp=0 # none without pidfd_getfd
net_policy "{
	\"allow\": [{\"host\": \"echo.test\", \"port\": $udp, \"proto\": \"udp\", \"private\": true},
		{\"host\": \"echo.test\", \"port\": $echo, \"proto\": \"tcp\", \"private\": true}],
	\"resolve\": {\"echo.test\": \"127.0.0.1\"}}"
cp "$SRC/tests/cases/threat-outsiders.py" "$T/home/case.py"
chmod 755 "$T" "$T/home"

for LIVE_WITHOUT in netns namespaces; do
	rm -f "$T/home/ports" "$T/home/shared" "$T/home/sent" "$T/home/over"
	timeout 100 "$PYTHON" "$T/home/case.py" outside "$T/home" >"$T/outside" 2>&1 &
	outsider=$!
	live_kept+=($!)
	(cd "$T/home" && net_run -W "$T/home" -w "$T/home" -- "$PYTHON" case.py inside "$inside_udp" "$echo") \
		>"$T/out" 2>&1
	wait "$outsider"
	[ "$(cat "$T/out")" = reached ] || fail "without '$LIVE_WITHOUT': $(cat "$T/out")"
	[ ! -s "$T/outside" ] || fail "without '$LIVE_WITHOUT': $(cat "$T/outside")"
done
