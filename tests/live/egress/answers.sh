#!/bin/bash
# Responses reach clients as they do without callgate: HTTP/1.0, no content length, early hints, trailers, server-sent
# events, a response before the request is complete, 100-continue, pipelining. Over plain HTTP and with TLS
# interception.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../net.sh"
need jq
"$PYTHON" -c 'import requests, httpx' 2>/dev/null || skip "python3-requests or -httpx is not installed"
net_ca answers.test localhost
"$PYTHON" "$SRC/tests/cases/net-answers.py" serve "$NET" >"$NET/log" 2>&1 &
live_kept+=($!)
net_await "the server" test -s "$NET/answers-ports"
read -r http https <"$NET/answers-ports"
endpoint='"host": "answers.test", "private": true, "http": ["GET,POST,PUT /**"], "proto"'
net_policy "{\"allow\": [{$endpoint: \"http\", \"port\": $http}, {$endpoint: \"https\", \"port\": $https}],
	\"resolve\": {\"answers.test\": \"127.0.0.1\"}, \"upstream_ca\": \"$NET/ca.pem\"}"
cp "$SRC/tests/cases/net-answers.py" "$T/home/client.py"
native "$PYTHON" "$T/home/client.py" "http://localhost:$http" >"$T/expected" 2>"$T/err" ||
	die "natively: $(tail -n 3 "$T/err")"

for without in "" netns; do
	export LIVE_WITHOUT=$without
	where=${without:+without $without: }
	for url in "http://answers.test:$http" "https://answers.test:$https"; do
		net_run -r "$T/home" -- "$PYTHON" "$T/home/client.py" "$url" >"$T/out" 2>"$T/err"
		cmp -s "$T/expected" "$T/out" ||
			fail "${where}$url: $(diff "$T/expected" "$T/out" | head -n 10); $(tail -n 3 "$T/err")"
		[ "$(jq -s '[.[] | select(.event == "request")] | length' "$T/audit")" = 73 ] ||
			fail "${where}$url: not 73 requests on record: $(jq -c 'select(.event == "request") |
			.path' "$T/audit" | sort | uniq -c)"
	done
done
