#!/bin/bash
# Node's clients with TLS interception: fetch, the https module with and without keep-alive, http2, websockets.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../net.sh"
need jq node nghttpd curl
node -e 'process.exit(typeof fetch === "function" ? 0 : 1)' || skip "node has no fetch"
"$PYTHON" -c 'import websockets' 2>/dev/null || skip "python3-websockets is not installed"
net_ca node.test
net_servers https
h1=$(net_port https)
net_nghttpd node.test
echo "by files" >"$NET/htdocs/file"
net_websockets
wss=$net_wss
endpoint='"host": "node.test", "proto": "https", "private": true'
net_policy "{
	\"allow\": [
		{$endpoint, \"port\": $h1, \"http\": [\"GET /ok\", \"GET /size/*\", \"POST /echo\"]},
		{$endpoint, \"port\": $net_h2, \"http\": [\"GET /file\"]},
		{$endpoint, \"port\": $wss, \"http\": [\"WEBSOCKET /chat\"]}],
	\"resolve\": {\"node.test\": \"127.0.0.1\"}, \"upstream_ca\": \"$NET/ca.pem\"}"
cp "$SRC/tests/cases/net-node.js" "$T/home/client.js"
options=()
node --experimental-websocket -e 0 2>/dev/null && options=(--experimental-websocket --no-warnings)
{
	cat <<END
fetch ok
fetch parallel $(seq -s ' ' 0 19)
fetch post 100000
fetch stream 50000
fetch 403 path_not_granted
fetch elsewhere ENOTFOUND
https kept 200 ok false
https kept 200 ok true
https kept 200 ok true
https kept 200 ok true
https chunked 200 70001
https parallel 20
http2 21
END
	node "${options[@]}" -e '
		if (globalThis.WebSocket)
			console.log("global echo 100000\nglobal /chat 1000\nglobal /other refused");
		if (require("fs").existsSync("/usr/share/nodejs/ws"))
			console.log("ws echo 100000\nws /chat 1000\nws /other refused");
		console.log("done");'
} >"$T/expected"

for way in "" netns changes; do
	net_take_way "$way" || continue
	: >"$NET/access"
	net_run -r "$T/home" -- node "${options[@]}" "$T/home/client.js" "$h1" "$net_h2" "$wss" >"$T/out" 2>"$T/err" ||
		fail "${where}status $?: $(tail -n 5 "$T/err")"
	cmp -s "$T/expected" "$T/out" || fail "${where}$(diff "$T/expected" "$T/out" | head -n 20)"
	net_check_served ".port == $h1" < <(jq -r '.method + " " + .path' "$NET/access")
	audit_has '.event == "request" and .path == "/file" and .alpn == "h2" and .ret == 200'
	jq -es '(map(select(.event == "open") | .conn) | unique) == (map(select(.event == "close") | .conn) | sort)' \
		"$T/audit" >"$T/equal" ||
		fail "${where}opened and closed connections differ"
done
