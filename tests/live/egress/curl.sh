#!/bin/bash
# curl without options for a proxy or a certificate authority: HTTP/1 and HTTP/2, both address families, large bodies
# both ways, redirects, TLS pass-through and interception. Then with explicit proxies.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../net.sh"
need curl jq
net_ca pass.test open.test
net_servers http https
https=$(net_port https) http=$(net_port http)
rules='"private": true, "http": ["GET,HEAD /ok", "GET /size/**", "POST,PUT /echo/**", "GET /redirect"]'
net_policy "{
	\"proxy\": true,
	\"allow\": [
		{\"host\": \"pass.test\", \"port\": $https, \"proto\": \"https\", \"private\": true},
		{\"host\": \"open.test\", \"port\": $https, \"proto\": \"https\", $rules},
		{\"host\": \"plain.test\", \"port\": $http, \"proto\": \"http\", $rules}],
	\"resolve\": {\"pass.test\": \"127.0.0.1\", \"open.test\": \"127.0.0.1\", \"plain.test\": \"127.0.0.1\"},
	\"upstream_ca\": \"$NET/ca.pem\"}"
mkdir "$T/in"
cp "$NET/ca.pem" "$T/in/ca.pem" # for what is passed on: the server's own certificate arrives
head -c 2000000 /dev/urandom >"$T/in/big"
sum=$(sha256sum <"$T/in/big")

# curl takes for a machine without IPv6 one that refuses it a socket of UDP, as callgate has to in such a container.
six=-6 peer=fd00:5a::11
[ -z "${OUTER_FILTER:-}" ] || six=-4 peer=198.18.0.17

cat >"$T/in/w.sh" <<EOF
cd $T/in
pass=https://pass.test:$https open=https://open.test:$https plain=http://plain.test:$http
get() { curl -sS --max-time 90 "\$@" 2>&1; }
for family in -4 $six; do
	get \$family --cacert ca.pem \$pass/ok
	get \$family \$open/ok
	get \$family \$plain/ok
done
get --http1.1 -o answer -w '%{http_version} %{http_code}\n' \$open/ok
get --http1.0 -o answer -w '1.0 %{http_code}\n' \$open/ok
get -I -o answer -w 'head %{http_code}\n' \$open/ok
get $six -o answer -w 'peer %{remote_ip} %{remote_port}\n' \$open/ok
for to in "--cacert ca.pem \$pass" \$open \$plain; do
	get \$to/echo --data-binary @big | sha256sum
	get \$to/echo/ -T big | sha256sum
	get \$to/echo -H 'Transfer-Encoding: chunked' --data-binary @big | sha256sum
	get \$to/size/3000000 | wc -c
	get \$to/size/900000 --limit-rate 3M | wc -c
done
get -o answer -o answer -w 'connects %{num_connects}\n' \$open/ok \$open/size/1
get -L --cacert ca.pem "\$plain/redirect?to=\$pass/ok"
get -L -w 'redirects %{num_redirects}\n' "\$open/redirect?to=\$plain/ok"
get -L "\$open/redirect?to=https://elsewhere.test/"
get -o answer -w 'forbidden %{http_code}\n' \$open/none
for proxy in socks5h://198.18.0.1:1080 socks5://198.18.0.1:1080 http://198.18.0.1:3128; do
	get -x \$proxy \$plain/ok
	get -x \$proxy \$open/ok
	get -x \$proxy --cacert ca.pem \$pass/ok
	get -x \$proxy -o answer -w "\${proxy%%:*} forbidden %{http_code}\\n" \$open/none
	get -x \$proxy \$open/echo --data-binary @big | sha256sum
	curl -sS --max-time 90 -x \$proxy https://elsewhere.test/ >answer 2>&1 && echo "\$proxy: elsewhere.test answers"
done
rm -f answer
EOF
{
	printf '%s\n' ok ok ok ok ok ok "1.1 200" "1.0 200" "head 200" "peer $peer $https"
	for _ in 1 2 3; do
		printf '%s\n' "$sum" "$sum" "$sum" 3000000 900000
	done
	printf '%s\n' "connects 1" "connects 0" ok ok "redirects 1" "curl: (6) Could not resolve host: elsewhere.test" \
		"forbidden 403"
	for proxy in socks5h socks5 http; do
		printf '%s\n' ok ok ok "$proxy forbidden 403" "$sum"
	done
} >"$T/expected"

for without in "" netns; do
	export LIVE_WITHOUT=$without
	where=${without:+without $without: }
	: >"$NET/access"
	net_run -w "$T/in" -- bash "$T/in/w.sh" >"$T/out" 2>"$T/err"
	cmp -s "$T/expected" "$T/out" ||
		fail "${where}$(diff "$T/expected" "$T/out" | head -n 20); $(head -n 5 "$T/err")
		$(jq -c 'select(.verdict == "deny") | [.event, .syscall, .host, .path, .reason]' "$T/audit" | sort |
			uniq -c | head -n 20)"
	audit_has '.event == "request" and .host == "open.test" and .path == "/none" and .reason == "path_not_granted"'
	audit_has '.event == "dns" and .host == "elsewhere.test" and .verdict == "deny" and .reason == "no_rule"'
	audit_none '.event == "request" and .host == "pass.test"'
	# What the servers saw of that is what is on record; of pass.test nothing is.
	jq -r 'select(.host | startswith("pass.test") | not) | .method + " " + (.path | sub("[?].*"; ""))' \
		"$NET/access" | sort >"$T/served"
	jq -r 'select(.event == "request" and .verdict == "allow") | .method + " " + (.path | sub("[?].*"; ""))' \
		"$T/audit" |
		sort >"$T/recorded"
	cmp -s "$T/served" "$T/recorded" ||
		fail "${where}served and recorded: $(diff "$T/served" "$T/recorded" | head -n 10)"
	[ -z "$(jq -s '(map(select(.event == "open") | .conn) | sort) - (map(select(.event == "close") | .conn) |
		sort) | .[]' "$T/audit")" ] ||
		fail "${where}connections without a close record"
done
