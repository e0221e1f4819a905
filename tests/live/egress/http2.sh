#!/bin/bash
# HTTP/2 with TLS interception: curl with nghttpd, and gRPC (trailers, streams, large messages, denials).
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../net.sh"
need curl jq nghttpd
"$PYTHON" -c 'import grpc' 2>/dev/null || skip "python3-grpcio is not installed"
curl --version | grep -qw HTTP2 || skip "curl has no HTTP/2"
net_ca h2.test grpc.test
mkdir "$NET/htdocs"
echo hello >"$NET/htdocs/hello"
head -c 3000000 /dev/urandom >"$NET/htdocs/big"
echo secret >"$NET/htdocs/secret"
h2=
for _ in 1 2 3 4 5; do
	h2=$((RANDOM % 20000 + 20000))
	nghttpd --address=127.0.0.1 -d "$NET/htdocs" --echo-upload "$h2" "$NET/server.key" "$NET/server.crt" \
		>"$NET/nghttpd.log" 2>&1 &
	live_kept+=($!)
	awaited net_has_or_dead $! "h2.test:$h2" /hello
	dead $! || break
done
"$PYTHON" "$SRC/tests/cases/net-grpc.py" serve "$NET" >"$NET/log" 2>&1 &
live_kept+=($!)
net_await "the gRPC server" test -s "$NET/grpc-port"
grpc=$(cat "$NET/grpc-port")
net_policy "{
	\"allow\": [
		{\"host\": \"h2.test\", \"port\": $h2, \"proto\": \"https\", \"private\": true,
			\"http\": [\"GET,HEAD /hello\", \"GET /big\", \"POST /echo\"]},
		{\"host\": \"grpc.test\", \"port\": $grpc, \"proto\": \"https\", \"private\": true,
		\"http\": [\"POST /demo.Greeter/**\"]}],
	\"resolve\": {\"h2.test\": \"127.0.0.1\", \"grpc.test\": \"127.0.0.1\"}, \"upstream_ca\": \"$NET/ca.pem\"}"

cat >"$T/w.sh" <<EOF
u=https://h2.test:$h2
curl -sS --max-time 90 -w '%{http_version} %{http_code}\n' \$u/hello
curl -sS --max-time 90 -I -o /dev/null -w '%{http_code}\n' \$u/hello
curl -sS --max-time 90 \$u/big | sha256sum
head -c 2000000 /dev/zero | curl -sS --max-time 90 --data-binary @- \$u/echo | wc -c
curl -sS --max-time 90 -o /dev/null -w '%{http_version} %{http_code}\n' \$u/secret
curl -sS --max-time 90 -o /dev/null -w '%{http_code}\n' -H 'Host: other.test' \$u/hello
curl -sS --max-time 90 -o /dev/null -w '%{http_version} %{http_code}\n' -H 'X-HTTP-Method-Override: DELETE' \$u/hello
curl -sS --no-progress-meter --max-time 90 --parallel --parallel-max 30 -o /dev/null -w '%{http_code}\n' \
	"\$u/hello?[1-60]" | sort | uniq -c
EOF
cat >"$T/expected" <<EOF
hello
2 200
200
$(sha256sum <"$NET/htdocs/big")
2000000
2 403
421
2 403
     60 200
EOF
for without in "" netns; do
	export LIVE_WITHOUT=$without
	where=${without:+without $without: }
	net_run -r "$T/w.sh" -- bash "$T/w.sh" >"$T/out" 2>"$T/err"
	cmp -s "$T/expected" "$T/out" ||
		fail "${where}curl: $(diff "$T/expected" "$T/out" | head -n 20); $(head -n 5 "$T/err")"
	audit_has ".event == \"open\" and .host == \"h2.test\""
	audit_has '.event == "request" and .path == "/hello" and .verdict == "allow" and .ret == 200 and .alpn == "h2"'
	audit_has '.event == "request" and .path == "/secret" and .verdict == "deny" and .reason == "path_not_granted"'
	audit_has '.event == "request" and .path == "/hello" and .verdict == "deny" and
		.reason == "override_not_granted"'
	[ "$(jq -s '[.[] | select(.event == "request" and (.path | startswith("/hello?")))] | length' "$T/audit")" \
		= 60 ] ||
		fail "${where}not 60 requests with a query on record"
	jq -es '(map(select(.event == "open") | .conn) | unique) == (map(select(.event == "close") | .conn) | sort)' \
		"$T/audit" >"$T/equal" ||
		fail "${where}opened and closed connections differ"
	net_run -r "$SRC/tests/cases" -- "$PYTHON" "$SRC/tests/cases/net-grpc.py" call "grpc.test:$grpc" \
		>"$T/out" 2>"$T/err"
	cmp -s - "$T/out" <<-'EOF' || fail "${where}gRPC: $(cat "$T/out"); $(tail -n 5 "$T/err")"
		b'HELLO' {'told': 'at-the-end'}
		3000000
		b'0,1,2,3,4'
		2000000
		FAILED_PRECONDITION as asked
		PERMISSION_DENIED
	EOF
	audit_has '.event == "request" and .path == "/other.Service/Method" and .verdict == "deny"'
done

# Requests that are asked about: while a stream waits with its body, others of the connection go on, also with bodies.
# One that the program cancels withdraws its question; an answer that comes then has no effect.
. "$SRC/tests/live/supervisor/approve-lib.sh"
jq '.on_deny = "ask" | .filesystem.write += ["@workdir"] |
	.network.allow[1].http = ["POST /demo.Greeter/Upper"]' "$NET/policy.json" >"$T/p.json"
cat >"$T/w/ask.py" <<'END'
import sys
import grpc

with grpc.secure_channel(sys.argv[1], grpc.ssl_channel_credentials()) as channel:
    upper, gather = channel.unary_unary("/demo.Greeter/Upper"), channel.stream_unary("/demo.Greeter/Gather")
    print(upper(b"first", timeout=30))
    waits = gather.future(iter([b"y" * 50000] * 20), timeout=60)
    print(len(upper(b"x" * 1000000, timeout=30)))
    open("went-on", "w", encoding="ascii").close()
    print(len(waits.result()))
    gone = channel.unary_unary("/demo.Greeter/Gather").future(b"gone", timeout=30)
    print(upper(b"second", timeout=30))
    gone.cancel()
    print(upper(b"third", timeout=30))
    try:
        gather(iter([b"no"]), timeout=30)
    except grpc.RpcError as error:
        print(error.code().name)
END
export LIVE_WITHOUT=
approver "file:$T/w/went-on=once" late:once no
asks "socket:$T/s" -- "$PYTHON" ask.py "grpc.test:$grpc"
ended '.calls.approved == 1 and
	.stdout == "b'\''FIRST'\''\n1000000\n1000000\nb'\''SECOND'\''\nb'\''THIRD'\''\nPERMISSION_DENIED\n"'
question 'map(.request.path) == ["/demo.Greeter/Gather", "/demo.Greeter/Gather", "/demo.Greeter/Gather"] and
	.[0].endpoint.proto == "https"'
record '.answer == "once" and .verdict == "ask" and .alpn == "h2" and .ret == 200'
record '.answer == "withdrawn" and .verdict == "deny" and .event == "request"'
record '.answer == "no" and .verdict == "deny" and .event == "request"'
[ "$(jq -s '[.[] | select(.event == "open")] | length' "$T/audit")" = 1 ] || fail "not one connection"
