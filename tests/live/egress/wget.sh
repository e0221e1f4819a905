#!/bin/bash
# wget without options for a proxy or a certificate authority: plain HTTP, TLS interception and pass-through, range
# requests, redirects, denials.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../net.sh"
need wget jq
net_ca pass.test open.test
net_servers http https
https=$(net_port https) http=$(net_port http)
rules='"private": true, "http": ["GET,HEAD /ok", "GET,HEAD /size/**", "POST /echo", "GET /redirect"]'
net_policy "{
	\"allow\": [
		{\"host\": \"pass.test\", \"port\": $https, \"proto\": \"https\", \"private\": true},
		{\"host\": \"open.test\", \"port\": $https, \"proto\": \"https\", $rules},
		{\"host\": \"plain.test\", \"port\": $http, \"proto\": \"http\", $rules}],
	\"resolve\": {\"pass.test\": \"127.0.0.1\", \"open.test\": \"127.0.0.1\", \"plain.test\": \"127.0.0.1\"},
	\"upstream_ca\": \"$NET/ca.pem\"}"
mkdir "$T/in"
cp "$NET/ca.pem" "$T/in/ca.pem" # for what is passed on: the server's own certificate arrives
head -c 300000 /dev/urandom | od -An -tx1 | tr -d ' \n' >"$T/in/body"

cat >"$T/in/w.sh" <<EOF
cd $T/in
pass=https://pass.test:$https open=https://open.test:$https plain=http://plain.test:$http
get() { wget -q -O- -T 30 -t 1 "\$@" || echo "status \$?"; }
get \$plain/ok
get \$open/ok
get --ca-certificate=ca.pem \$pass/ok
get -6 \$open/ok
get -4 \$open/ok
get --spider \$open/ok && echo there
get \$open/size/2000000 | wc -c
get --post-file=body \$open/echo | cmp - body && echo posted
get "\$plain/redirect?to=\$open/ok"
get \$open/ok \$open/size/2 \$open/ok
echo
get \$open/none
get "\$open/redirect?to=\$plain/none"
get https://elsewhere.test/
get http://127.0.0.1:$http/ok
get \$pass/ok 2>&1
EOF
cat >"$T/expected" <<EOF
ok
ok
ok
ok
ok
there
2000000
posted
ok
ok
xxok

status 8
status 8
status 4
status 4
status 5
EOF
for without in "" netns; do
	export LIVE_WITHOUT=$without
	where=${without:+without $without: }
	net_run -w "$T/in" -- bash "$T/in/w.sh" >"$T/out" 2>"$T/err"
	cmp -s "$T/expected" "$T/out" ||
		fail "${where}$(diff "$T/expected" "$T/out" | head -n 20); $(head -n 5 "$T/err")"
	audit_has '.event == "request" and .host == "plain.test" and .path == "/none" and .reason == "path_not_granted"'
	audit_has '.event == "dns" and .host == "elsewhere.test" and .reason == "no_rule"'
	audit_has '.syscall == "connect" and .host == "127.0.0.1" and .verdict == "deny"'
	# It breaks off, because it knows nothing of that authority; it does not tell that callgate's was not trusted.
	audit_none '.reason == "client_rejected_ca"'
done
