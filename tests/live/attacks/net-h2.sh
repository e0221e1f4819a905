#!/bin/bash
# A server floods an HTTP/2 stream with frames that flow control does not bound, and the client does not read: egress
# does not grow, and other connections go on.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../net.sh"
need curl jq
net_ca flood.test
net_servers http
"$PYTHON" "$SRC/tests/cases/attack-net-h2.py" "$NET" >"$T/h2" 2>&1 &
live_kept+=($!)
net_await "the h2 server" test -s "$NET/h2"
h2=$(cat "$NET/h2") http=$(net_port http)
net_policy "{
	\"allow\": [
		{\"host\": \"flood.test\", \"port\": $h2, \"proto\": \"https\", \"private\": true,
		\"http\": [\"GET /**\"]},
		{\"host\": \"plain.test\", \"port\": $http, \"proto\": \"http\", \"private\": true,
		\"http\": [\"GET /ok\"]}],
	\"resolve\": {\"flood.test\": \"127.0.0.1\", \"plain.test\": \"127.0.0.1\"}, \"upstream_ca\": \"$NET/ca.pem\"}"
cat >"$T/home/stalls.py" <<EOF
import os, socket, ssl, time
def frame(kind, flags, stream, data):
    return len(data).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + data
context = ssl.create_default_context(cafile="/etc/ssl/certs/ca-certificates.crt")
context.set_alpn_protocols(["h2"])
conn = context.wrap_socket(socket.create_connection(("flood.test", $h2)), server_hostname="flood.test")
authority = b"flood.test:$h2"
conn.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0, b"") +
    frame(1, 5, 1, b"\x82\x84\x87\x01" + bytes([len(authority)]) + authority))
time.sleep(3)
print(conn.selected_alpn_protocol(), flush=True)
os.system("curl -sS --max-time 90 http://plain.test:$http/ok; curl -sS --max-time 90 http://plain.test:$http/ok")
EOF
net_run -r "$T/home" -- "$PYTHON" "$T/home/stalls.py" >"$T/out" 2>&1 &
run=$!
most=0
while kill -0 "$run" 2>/dev/null; do
	callgate=$(pgrep -d , -f -- "--audit $T/audit")
	for status in ${callgate//,/ } $(pgrep -P "${callgate:-0}"); do
		now=$(awk '/^VmRSS/ { print $2 }' "/proc/$status/status" 2>/dev/null)
		[ "${now:-0}" -gt "$most" ] && most=$now
	done
	sleep 0.1
done
wait "$run"
[ "$(cat "$T/out")" = "h2
ok
ok" ] || fail "it said: $(cat "$T/out")"
audit_has '.event == "request" and .host == "flood.test" and .verdict == "allow"'
[ "$most" -gt 0 ] || fail "no process was seen"
[ "$most" -lt 100000 ] || fail "a process of callgate's grew to $most kB"
