#!/bin/bash
# Without a network namespace: when a listener stops listening during a connect(2) to it, the connection must not reach
# a service of the host that listens on the wildcard address.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../net.sh"
need jq
export LIVE_WITHOUT=netns
cp "$SRC/tests/cases/attack-net-listener.py" "$T/home/case.py"
for how in shutdown disconnect; do
	port=$(net_free_port STREAM)
	net_policy "{\"allow\": [{\"host\": \"other.test\", \"port\": 443}], \"listen\": [$port]}"
	rm -f "$T/home/down"
	timeout 100 "$PYTHON" "$T/home/case.py" host "$T/home/down" "$port" >"$T/host" 2>&1 &
	host=$!
	live_kept+=("$host")
	net_run -W "$T/home" -w "$T/home" -- "$PYTHON" case.py inside "$how" "$port" >"$T/out" 2>&1
	wait "$host"
	[ "$(cat "$T/out")" = "waiting True
got b''" ] || fail "$how: $(cat "$T/out")"
	[ "$(cat "$T/host")" = listens ] || fail "$how: the host's service: $(cat "$T/host")"
done
