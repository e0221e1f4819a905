#!/bin/bash
# Python's HTTP clients with TLS interception: urllib, requests, httpx, aiohttp, streams, websockets; over HTTP/1.1 and
# HTTP/2.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../net.sh"
need jq nghttpd curl
"$PYTHON" -c 'import requests, httpx, aiohttp, websockets, h2' 2>/dev/null ||
	skip "python3-requests, -httpx, -aiohttp, -h2 or -websockets is not installed"
net_ca py.test
net_servers https
h1=$(net_port https)
net_nghttpd py.test
echo "by files" >"$NET/htdocs/file"
net_websockets
wss=$net_wss
endpoint='"host": "py.test", "proto": "https", "private": true'
net_policy "{
	\"allow\": [
		{$endpoint, \"port\": $h1, \"http\": [\"GET /ok\", \"GET /size/*\", \"POST /echo\", \"GET /redirect\"]},
		{$endpoint, \"port\": $net_h2, \"http\": [\"GET /file\", \"POST /up\"]},
		{$endpoint, \"port\": $wss, \"http\": [\"WEBSOCKET /chat\"]}],
	\"resolve\": {\"py.test\": \"127.0.0.1\"}, \"upstream_ca\": \"$NET/ca.pem\"}"
cp "$SRC/tests/cases/net-python.py" "$T/home/client.py"
cat >"$T/expected" <<END
urllib b'ok\n'
urllib post 70000
urllib 403 path_not_granted
urllib elsewhere gaierror
requests ok
requests ok
requests ok
requests redirect ok
requests chunked 100000
requests upload 1 50000
requests big 3000000
requests method_not_granted
httpx ok HTTP/1.1
httpx chunked 100000
httpx path_not_granted
httpx HTTP/2 by files
httpx/2 upload 200000
httpx/2 HTTP/2 path_not_granted
httpx/2 parallel {'by files'} 20
aiohttp parallel [$(seq -s ', ' 0 1000 19000)]
aiohttp chunked 100000
aiohttp 403 path_not_granted
aiohttp websocket there and back
streams True True
websocket True
websocket True
websocket True
websocket pong
websocket closed 1000
websocket elsewhere 403
END

for way in "" netns changes; do
	net_take_way "$way" || continue
	: >"$NET/access"
	net_run -r "$T/home" -- "$PYTHON" "$T/home/client.py" "$h1" "$net_h2" "$wss" >"$T/out" 2>"$T/err" ||
		fail "${where}status $?: $(tail -n 3 "$T/err")"
	cmp -s "$T/expected" "$T/out" || fail "${where}$(diff "$T/expected" "$T/out" | head -n 20)"
	net_check_served ".port == $h1" < <(jq -r '.method + " " + .path' "$NET/access")
	audit_has '.event == "request" and .path == "/file" and .alpn == "h2" and .ret == 200'
	audit_has '.event == "request" and .path == "/chat" and .proto == "websocket" and .ret == 101'
	audit_has '.event == "request" and .path == "/other" and .verdict == "deny" and .reason == "path_not_granted"'
	jq -es '(map(select(.event == "open") | .conn) | unique) == (map(select(.event == "close") | .conn) | sort)' \
		"$T/audit" >"$T/equal" ||
		fail "${where}opened and closed connections differ"
done
