#!/bin/bash
# HTTP/1.1 requests are judged, in plain text and with TLS interception, between real clients and servers. Allowed
# requests work as without callgate and are recorded one by one. Denied requests are answered by egress and reach no
# server.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../net.sh"
need curl jq nginx
"$PYTHON" -c 'import websockets' 2>/dev/null || skip "python3-websockets is not installed"
net_ca h1.test
net_servers http https
python_http=$(net_port http) python_https=$(net_port https)
net_websockets
ws=$net_ws
wss=$net_wss

# Files, compression, PUT: nginx, at ports that were free a moment ago.
mkdir -p "$NET/www/put" "$NET/nginx"
chmod 755 "$T" "$NET" "$NET/www" # its workers may be nobody's
chmod 777 "$NET/www/put" "$NET/nginx"
yes 'some text to be compressed' | head -c 20000 >"$NET/www/text"
head -c 50000000 /dev/urandom >"$NET/www/big"
for _ in 1 2 3 4 5; do
	nginx_http=$((RANDOM % 20000 + 20000)) nginx_https=$((RANDOM % 20000 + 40000))
	cat >"$NET/nginx.conf" <<END
daemon off; pid $NET/nginx/pid; error_log $NET/nginx/error.log; worker_processes 1;
events { worker_connections 100; }
http {
	access_log $NET/nginx/access.log;
	client_body_temp_path $NET/nginx/body; proxy_temp_path $NET/nginx/p; fastcgi_temp_path $NET/nginx/f;
	uwsgi_temp_path $NET/nginx/u; scgi_temp_path $NET/nginx/s;
	gzip on; gzip_types *; gzip_min_length 100;
	server {
		listen 127.0.0.1:$nginx_http;
		listen 127.0.0.1:$nginx_https ssl;
		ssl_certificate $NET/server.crt; ssl_certificate_key $NET/server.key;
		root $NET/www;
		location /put/ { dav_methods PUT; }
	}
}
END
	nginx -c "$NET/nginx.conf" >"$NET/nginx/log" 2>&1 &
	live_kept+=($!)
	nginx=$!
	serves_or_ended() # another server may have the port
	{
		curl -s "http://127.0.0.1:$nginx_http/text" | cmp -s - "$NET/www/text" || dead "$nginx"
	}
	awaited serves_or_ended
	dead "$nginx" || break
done

rules='"private": true, "http": ["GET,HEAD /ok", "GET,HEAD /size/**", "POST /echo", "GET /status/**", "GET /text",
	"GET /big",
	"PUT /put/*", "WEBSOCKET /chat", "GET /headers"]'
endpoints=
for port in "$python_http" "$nginx_http" "$ws"; do
	endpoints+="{\"host\": \"h1.test\", \"port\": $port, \"proto\": \"http\", $rules}, "
done
for port in "$python_https" "$nginx_https" "$wss"; do
	endpoints+="{\"host\": \"h1.test\", \"port\": $port, \"proto\": \"https\", $rules}, "
done
net_policy "{\"allow\": [${endpoints%, }], \"resolve\": {\"h1.test\": \"127.0.0.1\"}, \"upstream_ca\": \"$NET/ca.pem\",
	\"proxy\": true}"
client=$SRC/tests/cases/net-http1.py
cp "$client" "$T/home/client.py"

ports_of()
{
	[ "$1" = http ] && echo "$python_http $nginx_http $ws" || echo "$python_https $nginx_https $wss"
}

# What the clients see without callgate; only that /other is a websocket, too, is another's business.
for scheme in http https; do
	read -r a b c < <(ports_of $scheme)
	rm -f "$NET/www/put/file"
	env SSL_CERT_FILE="$NET/ca.pem" "$PYTHON" - "$client" ask $scheme h1.test "$a" "$b" "$c" \
		>"$T/native-$scheme" 2>"$T/err" <<'END'
import socket
import sys
resolve = socket.getaddrinfo
socket.getaddrinfo = lambda host, *rest, **more: resolve("127.0.0.1" if host == "h1.test" else host, *rest, **more)
sys.argv = sys.argv[1:]
exec(compile(open(sys.argv[0], encoding="utf-8").read(), sys.argv[0], "exec"), {"__name__": "__main__"})
END
	grep -q 'websocket: True' "$T/native-$scheme" || die "natively by $scheme: $(tail -n 3 "$T/err")"
	echo "websocket elsewhere: 403" >>"$T/native-$scheme"
done

for without in "" netns; do
	export LIVE_WITHOUT=$without
	where=${without:+without $without: }
	for scheme in http https; do
		read -r a b c < <(ports_of $scheme)
		: >"$NET/access"
		rm -f "$NET/www/put/file"
		net_run -r "$T/home" -- "$PYTHON" "$T/home/client.py" ask $scheme h1.test "$a" "$b" "$c" \
			>"$T/out" 2>"$T/err"
		cmp -s "$T/native-$scheme" "$T/out" ||
			fail "${where}$scheme: $(diff "$T/native-$scheme" "$T/out" | head -n 10); $(tail -n 5 "$T/err")"
		audit_has '.event == "request" and .path == "/other" and .verdict == "deny" and
			.reason == "path_not_granted"'
		audit_has '.event == "request" and .path == "/chat" and .ret == 101'
		where="$where$scheme: " net_check_served ".port == $a" < <(jq -r '.method + " " + .path' "$NET/access")
		[ "$(jq -s '[.[] | select(.event == "request" and .verdict == "allow" and .ret == null)] |
			length' "$T/audit")" = 0 ] ||
			fail "${where}$scheme: a request without its outcome"
	done

	# What must not go out: STATUS REASON, then the bytes; "@" is host:port.
	: >"$NET/access"
	cat >"$T/home/bad.py" <<'END'
import json
import re
import socket
import ssl
import sys
scheme, port = sys.argv[1], int(sys.argv[2])
get = "GET /ok HTTP/1.1\r\nHost: @\r\n"
post = "POST /echo HTTP/1.1\r\nHost: @\r\n"
for text in (
        "GET /ok HTTP/1.1\r\nHost: other.test\r\n\r\n",
        "GET http://@/ok HTTP/1.1\r\nHost: @\r\n\r\n",
        "GET /ok HTTP/1.1\r\nHost: a%b\r\n\r\n",
        post + "Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nG",
        post + "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n5c\r\n",
        post + "Transfer-Encoding: chunked\r\n\r\n5;a\nb\r\nhello\r\n0\r\n\r\n",
        post + "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
        get + "X: a\r\n folded\r\n\r\n",
        get.replace("\r", "") + "\n",
        get.replace("Host:", "Host :") + "\r\n",
        "GET /size/%2e%2e/%2e%2e/no HTTP/1.1\r\nHost: @\r\n\r\n",
        "GET /size/../no HTTP/1.1\r\nHost: @\r\n\r\n",
        "GET /no HTTP/1.1\r\nHost: @\r\n\r\n",
        "TRACE /ok HTTP/1.1\r\nHost: @\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        get + "X-HTTP-Method-Override: DELETE\r\n\r\n",
):
    sock = socket.create_connection(("h1.test", port), 60)
    if scheme == "https":
        sock = ssl.create_default_context().wrap_socket(sock, server_hostname="h1.test")
    sock.sendall(text.replace("@", f"h1.test:{port}").replace("%b", "@b").encode())
    sock.settimeout(20)
    data = b""
    while b"}\n" not in data:
        got = sock.recv(65536)
        if not got:
            break
        data += got
    print(data[9:12].decode(), json.loads(data.partition(b"\r\n\r\n")[2])["reason"])
    sock.close()
END
	cat >"$T/expected" <<END
421 host_mismatch
400 bad_request
421 host_mismatch
400 smuggling
400 smuggling
400 smuggling
400 smuggling
400 smuggling
400 smuggling
400 smuggling
400 bad_request
403 path_not_granted
403 path_not_granted
403 method_not_granted
400 bad_request
403 override_not_granted
END
	for scheme in http https; do
		read -r a _ < <(ports_of $scheme)
		net_run -r "$T/home" -- "$PYTHON" "$T/home/bad.py" $scheme "$a" >"$T/out" 2>"$T/err"
		cmp -s "$T/expected" "$T/out" ||
			fail "${where}$scheme: $(diff "$T/expected" "$T/out" | head -n 20); $(tail -n 5 "$T/err")"
		jq -r 'select(.event == "request" and .verdict == "deny") | .reason' "$T/audit" >"$T/recorded"
		cut -d' ' -f2 "$T/expected" | cmp -s - "$T/recorded" ||
			fail "${where}$scheme: recorded: $(paste -sd' ' "$T/recorded")"
	done
	[ ! -s "$NET/access" ] || fail "${where}reached the server: $(cat "$NET/access")"

	# h2c is not taken up, and the server does not learn of the offer.
	net_run -- curl -sS --max-time 90 --http2 "http://h1.test:$python_http/headers" >"$T/out" 2>&1
	jq -e '.Accept and (has("Upgrade") or has("HTTP2-Settings") | not)' "$T/out" >/dev/null ||
		fail "${where}h2c: $(cat "$T/out")"

	# By the proxies: what the tunnel carries is judged as if there were none.
	for how in -x:http://198.18.0.1:3128 --socks5-hostname:198.18.0.1:1080 --socks5:198.18.0.1:1080; do
		for url in "http://h1.test:$python_http" "https://h1.test:$python_https"; do
			got=$(net_run -- curl -sS --max-time 90 "${how%%:*}" "${how#*:}" -o /dev/null -o /dev/null \
				-o /dev/null \
				-w '%{http_code} ' "$url/ok" "$url/size/3" "$url/no" 2>&1)
			[ "$got" = "200 200 403 " ] || fail "${where}curl $how $url: $got"
			audit_has '.event == "request" and .path == "/no" and .verdict == "deny"'
		done
		if net_run -- curl -sS --max-time 90 "${how%%:*}" "${how#*:}" -o /dev/null "https://elsewhere.test/" \
			>"$T/out" 2>&1; then
			fail "${where}curl $how: to where nothing is granted"
		fi
	done
done
