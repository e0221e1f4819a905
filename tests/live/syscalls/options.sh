#!/bin/bash
# Socket options behave as natively in a network namespace of the run's own. Without one those that would share ports,
# devices and groups with other processes are refused.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../net.sh"
need jq
net_policy '{"allow": [], "listen": ["*"]}'
script=$SRC/tests/cases/net-options.py

refused='reuse a port: Protocol not available
reuse a port: Protocol not available
bind: Address already in use
device: Protocol not available
device: Protocol not available
join: Protocol not available
option: Protocol not available
option: Protocol not available
option: Protocol not available
send: Connection refused'

if net_run --json -- true | jq -e .enforcement.netns.active >/dev/null; then
	"$PYTHON" "$script" >"$T/native.out" 2>&1 || fail "natively: $(tail -n 3 "$T/native.out")"
	net_run -r "$script" -- "$PYTHON" "$script" >"$T/inside.out" 2>&1 || fail "inside: $(tail -n 3 "$T/inside.out")"
	compare "own network namespace" out
fi
[ -z "${LIVE_WITHOUT:-}" ] || exit $live_failed
LIVE_WITHOUT=netns net_run -r "$script" -- "$PYTHON" "$script" shared >"$T/out" 2>&1
if grep -q "udp_not_offered\|PermissionError" "$T/out"; then
	echo "no UDP without pidfd_getfd(2) here"
	exit $live_failed
fi
[ "$(head -n 10 "$T/out")" = "$refused" ] || fail "without a network namespace: $(cat "$T/out")"
grep -q '^set 24 Protocol not available' "$T/out" || fail "IP_BIND_ADDRESS_NO_PORT: $(cat "$T/out")"
