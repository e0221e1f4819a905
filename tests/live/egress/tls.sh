#!/bin/bash
# TLS interception as clients see it: they get the protocol that the server chose. A server with an invalid certificate
# gives 502. A client that does not trust the run's authority, or pins a certificate, is detected and gets advice in the
# result.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../net.sh"
need curl jq openssl
net_ca open.test
net_servers https
https=$(net_port https)
cp "$NET/ca.pem" "$T/home/ca.pem"

# What is wrong with it is the server's certificate, not its root: the same one under another name, and an untrusted
# one.
policy()
{
	net_policy "{
		\"allow\": [
			{\"host\": \"open.test\", \"port\": $https, \"proto\": \"https\", \"private\": true,
			\"http\": [\"GET /ok\"]},
			{\"host\": \"wrong.test\", \"port\": $https, \"proto\": \"https\", \"private\": true,
			\"http\": [\"GET /ok\"]}],
		\"resolve\": {\"open.test\": \"127.0.0.1\", \"wrong.test\": \"127.0.0.1\"}$1}"
}

inside()
{
	net_run --json -r "$T/home" -- "$@" >"$T/out" 2>"$T/err"
	jq -r .stdout "$T/out"
}

close_has()
{
	audit_has ".event == \"close\" and $1"
	[ "$(jq -s '[.[] | select(.event == "close")] | length' "$T/audit")" = 1 ] ||
		fail "$where: not one close: $(jq -c 'select(.event == "close")' "$T/audit")"
}

for without in "" netns; do
	export LIVE_WITHOUT=$without
	policy ", \"upstream_ca\": \"$NET/ca.pem\""

	for version in 1.2 1.3; do
		where="${without:+without $without, }TLS $version"
		got=$(inside curl -sS --max-time 90 --tlsv$version --tls-max $version \
			-w '%{http_version} %{ssl_verify_result} %{http_code}' "https://open.test:$https/ok")
		[ "$got" = $'ok\n1.1 0 200' ] || fail "$where: $got $(cat "$T/err")"
		close_has '.reason != "client_rejected_ca" and .cause != "client_rejected_ca"'
		jq -e 'has("network_advice") | not' "$T/out" >/dev/null || jq -e '.network_advice == []' "$T/out" \
			>/dev/null || fail "$where: advice: $(jq -c .network_advice "$T/out")"
	done

	where="${without:+without $without, }no trust"
	got=$(inside sh -c "curl -sS --max-time 90 --cacert $T/home/ca.pem https://open.test:$https/ok 2>&1; echo \$?")
	[[ $got = *60 ]] || fail "$where: $got"
	close_has '.reason == "client_rejected_ca"'
	jq -e '.network_advice[] | select(.host == "open.test" and .reason == "client_rejected_ca")' "$T/out" \
		>/dev/null ||
		fail "$where: no advice: $(jq -c . "$T/out" | head -c 2000)"

	# It trusts the authority, but wants the server's own key.
	where="${without:+without $without, }a pin"
	pin=$(openssl x509 -in "$NET/server.crt" -pubkey -noout | openssl pkey -pubin -outform der |
		openssl dgst -sha256 -binary | base64)
	got=$(inside \
		sh -c "curl -sS --max-time 90 --pinnedpubkey 'sha256//$pin' https://open.test:$https/ok 2>&1; echo \$?")
	[[ $got = *90 ]] || fail "$where: $got"
	close_has '.cause == "client_rejected_ca"'
	jq -e '.network_advice[] | select(.host == "open.test" and .reason == "client_rejected_ca")' "$T/out" \
		>/dev/null ||
		fail "$where: no advice"
	[ "$(wc -l <"$NET/access")" = 2 ] || fail "$where: the server was asked: $(cat "$NET/access")"

	where="${without:+without $without, }another name"
	got=$(inside curl -sS --max-time 90 -w '%{http_code}' "https://wrong.test:$https/ok")
	[[ $got = *'"upstream_tls"'*'hostname mismatch'*502 ]] || fail "$where: $got"
	close_has '.reason == "upstream_tls" and .status == 502'

	where="${without:+without $without, }unknown root"
	policy ""
	got=$(inside curl -sS --max-time 90 -w '%{http_code}' "https://open.test:$https/ok")
	[[ $got = *'"upstream_tls"'*'issuer certificate'*502 ]] || fail "$where: $got"
	close_has '.reason == "upstream_tls" and .status == 502'
	[ "$(wc -l <"$NET/access")" = 2 ] || fail "$where: the server was asked: $(cat "$NET/access")"
	: >"$NET/access"
done
