#!/bin/bash
# A client that trusts only the server's own authority or certificate fails with TLS interception: the client reports an
# error, the audit log the cause, the result an advice. With that advice (no "http") it works.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../net.sh"
need jq curl
net_ca pin.test
net_servers https
port=$(net_port https)
cp "$SRC/tests/cases/net-pinned.py" "$NET/ca.pem" "$NET/server.crt" "$T/home/"
endpoint="\"host\": \"pin.test\", \"port\": $port, \"proto\": \"https\", \"private\": true"
rest="\"resolve\": {\"pin.test\": \"127.0.0.1\"}, \"upstream_ca\": \"$NET/ca.pem\""
cat >"$T/expected" <<END
TLSv1_2 unable to get local issuer certificate
TLSv1_3 unable to get local issuer certificate
streams refused
pin False
END

# refused WHAT CONNECTIONS COMMAND…: what the result and the log say of it.
refused()
{
	local what=$1 connections=$2 got
	shift 2
	net_run -r "$T/home" --json -- "$@" >"$T/result" 2>"$T/err"
	got=$(jq -sc '[.[] | select(.event == "close") | select(.cause == "client_rejected_ca" or
		.reason == "client_rejected_ca")]
		| length' "$T/audit")
	[ "$got" = "$connections" ] ||
		fail "${where}$what: $got of $connections closes say it: $(jq -c 'select(.event == "close")' \
		"$T/audit")"
	got=$(jq -c '[.network_advice[] | [.host, .reason, (.advice | contains("drop \"http\""))]]' "$T/result")
	[ "$got" = '[["pin.test","client_rejected_ca",true]]' ] || fail "${where}$what: advice: $got"
	audit_none '.event == "request"'
}

for without in "" netns; do
	export LIVE_WITHOUT=$without
	where=${without:+without $without: }
	: >"$NET/access"
	net_policy "{\"allow\": [{$endpoint, \"http\": [\"GET /ok\"]}], $rest}"
	for version in 1.2 1.3; do
		refused "curl, TLS $version" 1 curl -sS --max-time 60 --tls-max $version \
			--cacert "$T/home/ca.pem" "https://pin.test:$port/ok"
		[ "$(jq .exit_code "$T/result")" = 60 ] || fail "${where}curl, TLS $version: $(jq -c '{exit_code,
			stderr}' "$T/result")"
	done
	refused python 4 "$PYTHON" "$T/home/net-pinned.py" pin.test "$port" "$T/home/ca.pem" "$T/home/server.crt"
	jq -j .stdout "$T/result" | cmp -s - "$T/expected" ||
		fail "${where}python: $(jq -c '{stdout, stderr}' "$T/result")"
	[ ! -s "$NET/access" ] || fail "${where}the server was asked: $(head -n 3 "$NET/access")"

	# Who does trust the run's authority is no matter of advice.
	net_run --json -- curl -sS --max-time 60 "https://pin.test:$port/ok" >"$T/result" 2>"$T/err"
	[ "$(jq -c '[.stdout, .network_advice]' "$T/result")" = '["ok\n",[]]' ] ||
		fail "${where}curl: $(jq -c '{stdout, stderr, network_advice}' "$T/result")"

	net_policy "{\"allow\": [{$endpoint}], $rest}"
	got=$(net_run -r "$T/home" -- curl -sS --max-time 60 --cacert "$T/home/ca.pem" "https://pin.test:$port/ok" 2>&1)
	[ "$got" = ok ] || fail "${where}not opened: $got"
done
