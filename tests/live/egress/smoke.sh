#!/bin/bash
# One of each, by curl: a name, TLS pass-through and interception, plain HTTP, TCP, a denial. With every sandbox layer
# and without a network namespace.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../net.sh"
need curl jq
net_ca pass.test open.test
net_servers http https echo banner
https=$(net_port https) http=$(net_port http)
net_policy "{
	\"allow\": [
		{\"host\": \"pass.test\", \"port\": $https, \"proto\": \"https\", \"private\": true},
		{\"host\": \"open.test\", \"port\": $https, \"proto\": \"https\", \"private\": true,
		\"http\": [\"GET /ok\", \"POST /echo\"]},
		{\"host\": \"plain.test\", \"port\": $http, \"proto\": \"http\", \"private\": true,
		\"http\": [\"GET /ok\"]},
		{\"host\": \"banner.test\", \"port\": $(net_port banner), \"proto\": \"tcp\", \"private\": true}],
	\"resolve\": {\"pass.test\": \"127.0.0.1\", \"open.test\": \"127.0.0.1\", \"plain.test\": \"127.0.0.1\",
		\"banner.test\": \"127.0.0.1\"},
	\"upstream_ca\": \"$NET/ca.pem\"}"
cp "$NET/ca.pem" "$T/home/ca.pem"

for without in "" netns namespaces; do
	export LIVE_WITHOUT=$without
	where=${without:+without $without: }
	# ask EXPECTED CURL-ARGUMENT…
	ask()
	{
		local expected=$1 got
		shift
		got=$(net_run -r "$T/home" -- curl -sS --max-time 90 "$@" 2>&1)
		[ "$got" = "$expected" ] ||
			fail "${where}curl $*: $got; $(jq -c 'select(.verdict == "deny")' "$T/audit" | head -n 5)"
	}
	ask ok --cacert "$T/home/ca.pem" "https://pass.test:$https/ok"
	audit_has '.event == "open" and .host == "pass.test"'
	audit_has '.event == "close"'
	audit_none '.event == "request"'
	ask ok "https://open.test:$https/ok"
	audit_has '.event == "request" and .host == "open.test" and .method == "GET" and .path == "/ok" and
		.verdict == "allow"'
	ask body -d body "https://open.test:$https/echo"
	ask 403 -o /dev/null -w '%{http_code}' "https://open.test:$https/size/3"
	audit_has '.event == "request" and .path == "/size/3" and .verdict == "deny"'
	ask ok "http://plain.test:$http/ok"
	got=$(net_run -- "$PYTHON" -c "
import socket
s = socket.create_connection(('banner.test', $(net_port banner)), 20)
f = s.makefile('rwb')
print(f.readline(), s.getpeername()[1] == $(net_port banner))
f.write(b'hello\n'); f.flush(); print(f.readline())" 2>&1)
	[ "$got" = "b'220 ready\\r\\n' True
b'250 hello\\n'" ] || fail "${where}banner: $got"
	got=$(net_run -- curl -sS --max-time 90 "https://elsewhere.test/" 2>&1)
	[[ $got = *"Could not resolve host"* ]] || fail "${where}an unapproved name: $got"
	got=$(net_run -- curl -sS --max-time 90 "http://127.0.0.1:$http/ok" 2>&1)
	[[ $got = *"onnect"* ]] || fail "${where}the host's loopback: $got"
	audit_has '.syscall == "connect" and .verdict == "deny"'
	[ "$(jq -s '[.[] | select(.event == "open" and .verdict == "allow")] | length' "$T/audit")" = 0 ] ||
		fail "${where}opened"
done
