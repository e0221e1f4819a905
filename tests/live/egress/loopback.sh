#!/bin/bash
# Servers and clients within one run, at granted ports; UDP endpoints; denials, with their reasons on record. With a
# network namespace and without, and where pidfd_getfd(2) is refused.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../net.sh"
need jq
net_servers udp
udp=$(net_port udp)
port=$(net_free_port STREAM)
net_policy "{
	\"allow\": [{\"host\": \"echo.test\", \"port\": $udp, \"proto\": \"udp\", \"private\": true},
	{\"host\": \"other.test\", \"port\": 443, \"private\": true}],
	\"resolve\": {\"echo.test\": \"127.0.0.1\", \"other.test\": \"127.0.0.1\"}, \"listen\": [$port]}"
printf '#!/bin/sh\nexec "%s" "%s" "$@"\n' "$CASES/cases-without" "$CALLGATE" >"$T/callgate"
chmod +x "$T/callgate"
cat >"$T/expected" <<'EOF'
127.0.0.1 b'hello'
localhost b'hello'
0.0.0.0 b'hello'
names 0.0.0.0 True 127.0.0.1
another port PermissionError
any port PermissionError
a client's port None
elsewhere OSError
a literal ConnectionRefusedError
never given out ConnectionRefusedError
a datagram ConnectionRefusedError
a quick packet ConnectionRefusedError
another port of a name ConnectionRefusedError
closed ConnectionRefusedError
again 127.0.0.1
EOF

own_netns()
{
	LIVE_WITHOUT=$without CALLGATE=$program net_run --json -- true | jq -e .enforcement.netns.active >/dev/null
}

# refused REASON SYSCALL PORT
refused()
{
	audit_has ".syscall == \"$2\" and .verdict == \"deny\" and .reason == \"$1\" and .port == $3"
}

for program in "$CALLGATE" "$T/callgate"; do
	for without in "" netns namespaces; do
		where="${program#"$T"/} without '$without'"
		# Without a namespace of the run's own, and where messages have to be native, there are no UDP sockets.
		udp_there=
		[ "$program" = "$CALLGATE" ] && [ -z "${OUTER_FILTER:-}" ] && udp_there=1
		own_netns && udp_there=1
		LIVE_WITHOUT=$without CALLGATE=$program net_run -r "$SRC/tests/cases" \
			-- "$PYTHON" "$SRC/tests/cases/net-loopback.py" "$port" \
			>"$T/out" 2>"$T/err"
		if [ -n "$udp_there" ]; then
			cp "$T/expected" "$T/want"
		else
			sed 's/^\(a datagram\|a quick packet\) .*/\1 PermissionError/' "$T/expected" >"$T/want"
		fi
		diff "$T/want" "$T/out" >&2 || die "$where: see above; $(tail -n 3 "$T/err")"
		refused port_not_granted bind $((port + 1))
		refused no_rule connect 80
		refused address_unknown connect 443
		audit_has '.syscall == "connect" and .verdict == "deny" and .host == "other.test" and .port == 444'
		[ -n "$udp_there" ] || continue
		refused no_rule sendto 53
		got=$(LIVE_WITHOUT=$without CALLGATE=$program net_run -- "$PYTHON" -c "
import socket
a = (socket.gethostbyname('echo.test'), $udp)
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(20)
s.connect(a)
print(s.getpeername() == a)
for i in range(3):
    s.send(b'ping%d' % i)
    print(s.recv(100))
t = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
t.settimeout(20)
t.sendmsg([b'two ', b'parts'], [], 0, a)
print(t.recvfrom(100)[0])" 2>&1)
		[ "$got" = "True
b'ping0'
b'ping1'
b'ping2'
b'two parts'" ] || fail "$where: UDP: $got; $(jq -c 'select(.verdict == "deny")' "$T/audit" | tail -n 2)"
		audit_has '.event == "open" and .host == "echo.test" and .proto == "udp"'
	done
done
