#!/bin/bash
# Java's clients with TLS interception, using the trust store that the run provides: HttpURLConnection, HttpClient over
# HTTP/1.1 and HTTP/2, and websockets.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../net.sh"
need jq java javac nghttpd curl
# The one that has its own tree: /usr/bin/java is a link of Debian's into it.
java=$(readlink -f "$(command -v java)")
home=${java%/bin/java}
[ -e "$home/lib/security/cacerts" ] || skip "java without a store of certificates"
net_ca java.test
net_servers http https
http=$(net_port http)
h1=$(net_port https)
net_nghttpd java.test
echo "by files" >"$NET/htdocs/file"
wss=0
if "$PYTHON" -c 'import websockets' 2>/dev/null; then
	net_websockets
	wss=$net_wss
fi
mkdir "$T/w"
javac -J-XX:TieredStopAtLevel=1 -d "$T/w" "$SRC/tests/cases/NetJava.java" 2>"$T/err" || die "javac: $(cat "$T/err")"
endpoint='"host": "java.test", "private": true, "proto"'
chat=
[ "$wss" = 0 ] || chat=", {$endpoint: \"https\", \"port\": $wss, \"http\": [\"WEBSOCKET /chat\"]}"
net_policy "{
	\"allow\": [
		{$endpoint: \"http\", \"port\": $http, \"http\": [\"GET /ok\"]},
		{$endpoint: \"https\", \"port\": $h1, \"http\": [\"GET /ok\", \"POST /echo\"]},
		{$endpoint: \"https\", \"port\": $net_h2, \"http\": [\"GET /file\", \"POST /up\"]}$chat],
	\"resolve\": {\"java.test\": \"127.0.0.1\"}, \"upstream_ca\": \"$NET/ca.pem\"}"
options=(-w "$T/w")
for conf in /etc/java*; do # Debian's have parts of their own there
	[ -d "$conf" ] && options+=(-r "$conf")
done
cat >"$T/expected" <<END
connection ok
connection chunked 70000
connection 403 true
http/1 HTTP_1_1 ok
http/1 upload 200000
http/1 parallel 20
http/1 403 true
http/2 HTTP_2 by files
http/2 upload 200000
http/2 parallel 20
http/2 403 true
HTTP_1_1
HTTP_1_1
END
[ "$wss" = 0 ] || printf 'websocket there and back\nwebsocket elsewhere 403\n' >>"$T/expected"
echo "elsewhere refused" >>"$T/expected"

for without in "" netns; do
	export LIVE_WITHOUT=$without
	where=${without:+without $without: }
	: >"$NET/access"
	net_run "${options[@]}" -- java -XX:TieredStopAtLevel=1 -Xmx200m \
		-cp "$T/w" NetJava "$h1" "$net_h2" "$http" "$wss" >"$T/out" 2>"$T/err" ||
		fail "${where}status $?: $(tail -n 5 "$T/err")"
	cmp -s "$T/expected" "$T/out" || fail "${where}$(diff "$T/expected" "$T/out" | head -n 20)"
	net_check_served ".port == $h1" < <(jq -r 'select(.kind == "https") | .method + " " + .path' "$NET/access")
	audit_has '.event == "request" and .path == "/file" and .alpn == "h2" and .ret == 200'
	audit_none '.event == "close" and .cause == "client_rejected_ca"'
done
