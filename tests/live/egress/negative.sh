#!/bin/bash
# Denied network operations of a program that has a network (threats 34-40). Each is denied in
# time and with an error that the program understands, is on record with its reason, and reaches no server. Similar
# operations that are granted work. With a network namespace and without.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../net.sh"
need jq
[ -z "${OUTER_FILTER:-}" ] ||
	skip "there are not all kinds of sockets below a container's filter: egress/loopback.sh is about that"
net_ca pass.test open.test other.test
net_servers http https echo
"$PYTHON" "$SRC/tests/cases/net-negative.py" serve "$NET" </dev/null >>"$NET/log" 2>&1 &
live_kept+=($!)
net_await "more servers" test -s "$NET/more"
ports=$(jq -cs add "$NET/ports" "$NET/more")
https=$(net_port https) http=$(net_port http) echo=$(net_port echo)
alt=$(jq .alt "$NET/more") stuck=$(jq .stuck "$NET/more")
value=cgvalue-$(od -An -N20 -tx1 /dev/urandom | tr -d ' \n')
export SOURCE=$value
NET_MORE='{"secrets": {"KEY": {"from": "env:SOURCE", "hosts": ["open.test"]}}}'
net_policy "{
	\"allow\": [
		{\"host\": \"pass.test\", \"port\": $https, \"proto\": \"https\", \"private\": true},
		{\"host\": \"other.test\", \"port\": $https, \"proto\": \"https\", \"private\": true},
		{\"host\": \"open.test\", \"port\": $https, \"proto\": \"https\", \"private\": true,
		\"http\": [\"GET /ok\"],
			\"credential\": {\"header\": \"Authorization\", \"value\": \"Bearer {KEY}\"}},
		{\"host\": \"plain.test\", \"port\": $http, \"proto\": \"http\", \"private\": true,
		\"http\": [\"GET /ok\", \"POST /echo\"]},
		{\"host\": \"alt.test\", \"port\": $alt, \"proto\": \"http\", \"private\": true,
		\"http\": [\"GET /ok\"]},
		{\"host\": \"raw.test\", \"port\": $echo, \"proto\": \"tcp\", \"private\": true},
		{\"host\": \"fork.test\", \"port\": $echo, \"proto\": \"tcp\", \"private\": true},
		{\"host\": \"cap.test\", \"port\": $echo, \"proto\": \"tcp\", \"private\": true,
		\"max_bytes_down\": \"64K\"},
		{\"host\": \"stuck.test\", \"port\": $stuck, \"proto\": \"tcp\", \"private\": true},
		{\"host\": \"*.wild.test\", \"port\": $echo, \"proto\": \"tcp\", \"private\": true}],
	\"resolve\": {\"pass.test\": \"127.0.0.1\", \"other.test\": \"127.0.0.1\", \"open.test\": \"127.0.0.1\",
	\"plain.test\": \"127.0.0.1\",
		\"alt.test\": \"127.0.0.1\", \"raw.test\": \"127.0.0.1\", \"fork.test\": \"127.0.0.1\",
		\"cap.test\": \"127.0.0.1\",
		\"stuck.test\": \"127.0.0.1\"},
	\"upstream_ca\": \"$NET/ca.pem\", \"proxy\": true}"
cp "$NET/ca.pem" "$SRC/tests/cases/net-negative.py" "$T/home"

cat >"$T/expected" <<'END'
literal -> ECONNREFUSED
literal of the server -> ECONNREFUSED
literal of six -> ECONNREFUSED
literal mapped -> ECONNREFUSED
never issued -> ECONNREFUSED
never issued of six -> ECONNREFUSED
another port of a name -> ECONNREFUSED
dns elsewhere by sendto -> ECONNREFUSED
dns elsewhere by sendmsg -> ECONNREFUSED
dns elsewhere connected -> ECONNREFUSED
dns elsewhere by TCP -> ECONNREFUSED
quic -> ECONNREFUSED
quic by sendto -> ECONNREFUSED
a text of an approved name -> code 0, 0 answers
a text of another name -> code 3, 0 answers
a long name -> code 3, 0 answers, no such name
a longer name -> code 1, 0 answers
the name of another -> TLSV1_UNRECOGNIZED_NAME
no name -> TLSV1_UNRECOGNIZED_NAME
the name of another where TLS is opened -> TLSV1_UNRECOGNIZED_NAME
no name where TLS is opened -> TLSV1_UNRECOGNIZED_NAME
no TLS at all -> alert
a hello byte by byte -> 200
a hello over records -> 200
a hello byte by byte where TLS is opened -> 200
a hello over records where TLS is opened -> 200
a hello cut anywhere -> 200
request: another host -> 421 host_mismatch
request: another port -> 421 host_mismatch
request: somebody at a host -> 421 host_mismatch
request: somebody at the host -> 421 host_mismatch
request: absolute to another -> 400 bad_request
request: absolute with another host -> 400 bad_request
request: no host -> 400 bad_request
request: two hosts -> 400 smuggling
request: a length twice -> 400 smuggling
request: an odd coding -> 400 smuggling
request: a folded coding -> 400 smuggling
request: a space before a colon -> 400 smuggling
request: dots encoded -> 400 bad_request
request: dots encoded in part -> 400 bad_request
request: dots -> 403 path_not_granted
request: a slash encoded -> 400 bad_request
request: a path -> 403 path_not_granted
request: trace -> 403 method_not_granted
request: connect -> 400 bad_request
request: a websocket -> 403 upgrade_not_granted
length before chunks -> 400 smuggling
chunks before length -> 400 smuggling
another host than the handshakes -> 421 host_mismatch
h2c is not begun -> 200
h2c unasked -> 400 bad_request
other services are not advertised -> 200 False
own credentials -> 200
a placeholder elsewhere -> 200
tunnel to elsewhere.test:443 -> 403 no_rule
tunnel to 8.8.8.8:443 -> 403 no_rule
tunnel to 127.0.0.1:@ -> 403 no_rule
tunnel to 0x7f.1:@ -> 400 bad_request
tunnel to 2130706433:@ -> 400 bad_request
tunnel to 0177.0.0.1:@ -> 400 bad_request
tunnel to 127.1:@ -> 400 bad_request
tunnel to [::ffff:127.0.0.1]:@ -> 400 bad_request
tunnel to [::1]:@ -> 403 no_rule
tunnel to raw.test%00.elsewhere.test:@ -> 400 bad_request
tunnel to raw.testNUL.x:@ -> 400 bad_request
tunnel to raw.test:22 -> 403 port_not_granted
tunnel to raw.test.:1 -> 403 port_not_granted
absolute by the proxy -> 403 no_rule
socks to elsewhere.test -> code 2
socks to 8.8.8.8 -> code 2
socks to 127.0.0.1 -> code 2
socks to 0x7f.1 -> code 2
socks to 2130706433 -> code 2
socks to [::ffff:127.0.0.1] -> code 2
socks to ::ffff:127.0.0.1 -> code 2
socks to an address -> code 2
socks to an address of six -> code 2
socks to a name that is there -> code 0
fast open -> ENOTSUP ENOPROTOOPT
mptcp -> EPROTONOSUPPORT
an abstract socket -> ECONNREFUSED
a unix socket -> ENOENT
a cap -> ECONNRESET True
half closed -> True
reset after the answer -> 100
killed while dialling -> killed
forked after connecting -> 0 b'parent\n'
slow ones -> ['closed']
END

# What is on record of it, one line a kind: everything refused, and how each connection ended. Which of the two was
# first to end one that was all right depends on the hour. The abstract name is refused without a network namespace, and
# not found in one.
cat >"$T/expected-records" <<'END'
close 1080 tcp refused bad_name
close 127.0.0.1:echo tcp ended
close 127.0.0.1:echo tcp refused no_rule
close 3128 tcp refused bad_request
close 8.8.8.8:443 tcp ended
close 8.8.8.8:echo tcp refused no_rule
close ::1:echo tcp ended
close alt.test:alt http ended
close cap.test:echo tcp cap_bytes_down cap_bytes
close elsewhere.test:443 tcp ended
close elsewhere.test:80 tcp ended
close elsewhere.test:echo tcp refused no_rule
close fork.test:echo tcp ended
close open.test:https https ended
close open.test:https https refused no_sni
close open.test:https https refused sni_mismatch
close pass.test:https https ended
close pass.test:https https hello_timeout
close pass.test:https https refused no_sni
close pass.test:https https refused not_tls
close pass.test:https https refused sni_mismatch
close plain.test:http http ended
close plain.test:http http header_timeout
close plain.test:http http refused bad_request
close plain.test:http http refused smuggling
close raw.test:1 tcp ended
close raw.test:22 tcp ended
close raw.test:echo tcp ended
close stuck.test:stuck tcp cancelled
connect 127.0.0.1:http tcp no_rule ECONNREFUSED
connect 192.0.2.1:443 tcp no_rule ECONNREFUSED
connect 198.19.255.1:443 tcp address_unknown ECONNREFUSED
connect 2001:db8::1:443 tcp no_rule ECONNREFUSED
connect 8.8.8.8:443 tcp no_rule ECONNREFUSED
connect 8.8.8.8:53 tcp no_rule ECONNREFUSED
connect 8.8.8.8:53 udp no_rule ECONNREFUSED
connect fd00:5a::ffff:1:443 tcp address_unknown ECONNREFUSED
connect raw.test:22 tcp port_not_granted ECONNREFUSED
dns a long name dns A no_rule ENOENT
dns text.elsewhere.test dns TXT no_rule ENOENT
open 127.0.0.1:echo proxy no_rule ECONNREFUSED
open 127.0.0.1:echo socks no_rule ECONNREFUSED
open 8.8.8.8:443 proxy no_rule ECONNREFUSED
open 8.8.8.8:echo socks no_rule ECONNREFUSED
open ::1:echo proxy no_rule ECONNREFUSED
open elsewhere.test:443 proxy no_rule ECONNREFUSED
open elsewhere.test:80 proxy no_rule ECONNREFUSED
open elsewhere.test:echo socks no_rule ECONNREFUSED
open raw.test:1 proxy port_not_granted ECONNREFUSED
open raw.test:22 proxy port_not_granted ECONNREFUSED
request 3128 proxy CONNECT bad_request 400
request 3128 proxy bad_request 400
request alt.test:alt http GET /ok 200
request open.test:https https GET /ok 200
request open.test:https https GET /x22 host_mismatch 421
request plain.test:http http CONNECT bad_request 400
request plain.test:http http GET /ok 200
request plain.test:http http GET /x1 host_mismatch 421
request plain.test:http http GET /x12 path_not_granted 403
request plain.test:http http GET /x14?… path_not_granted 403
request plain.test:http http GET /x2 host_mismatch 421
request plain.test:http http GET /x3 host_mismatch 421
request plain.test:http http GET /x4 host_mismatch 421
request plain.test:http http GET bad_request 400
request plain.test:http http TRACE /ok method_not_granted 403
request plain.test:http http bad_request 400
request plain.test:http http smuggling 400
request plain.test:http websocket GET /ok upgrade_not_granted 403
sendmsg 8.8.8.8:53 udp no_rule ECONNREFUSED
sendto 8.8.8.8:53 udp no_rule ECONNREFUSED
sendto fast_open_not_offered EOPNOTSUPP
sendto pass.test:https udp proto_not_granted ECONNREFUSED
setsockopt refused_syscall ENOPROTOOPT
socket protocol_not_offered EPROTONOSUPPORT
END
seen()
{
	jq -r --argjson ports "$ports" '($ports | with_entries({key: (.value | tostring), value: .key})) as $names
		| select(.event != null or (.verdict == "deny" and (.syscall |
		test("^(socket|setsockopt|connect|send.*)$"))
			and (.reason | IN("expected_probe", "abstract_socket_not_granted") | not)
			and (.path // "" | test("outside$") | not)))
		| select(.event != "open" or .verdict == "deny")
		| ([.host // empty, (.port // empty | tostring | $names[.] // .)] | join(":")) as $where
		| [.event // .syscall, (if $where | length > 200 then "a long name" else $where end),
			(.proto, .method, .path, (.cause | if IN("client", "client_reset",
			"server") then "ended" else . end),
			.reason, .errno, (if .event == "request" then .ret else null end) | values)]
		| map(tostring) | map(select(. != "")) | join(" ")' "$1" | sort -u
}

# All at the same time: the slow ones wait for half a minute.
running=()
for without in "" netns namespaces; do
	LIVE_WITHOUT=$without cg run -p "$NET/policy.json" --audit "$T/audit-$without" -r "$T/home" \
		-e "OUTSIDE=$NET/outside" \
		-e "ABSTRACT=$(basename "$T")" -- "$PYTHON" "$T/home/net-negative.py" try "$ports" \
		>"$T/out-$without" 2>&1 &
	running+=($!)
done
wait "${running[@]}"

for without in "" netns namespaces; do
	where=${without:+without $without: }
	diff "$T/expected" "$T/out-$without" >"$T/diff" || fail "${where}expected (<), got (>): $(cat "$T/diff")"
	cp "$T/audit-$without" "$T/audit"
	seen "$T/audit" | diff "$T/expected-records" - >"$T/diff" ||
		fail "${where}records, expected (<), there (>): $(cat "$T/diff")"
	# Whatever became of a connection: one end of it.
	closes=$(jq -c 'select(.event == "close") | .conn' "$T/audit" | sort | uniq -d)
	[ -z "$closes" ] || fail "${where}closed more than once: $closes"
	for host in stuck fork cap; do
		[ "$(jq -c "select(.event == \"close\" and .host == \"$host.test\")" "$T/audit" | wc -l)" = 1 ] ||
			fail "${where}ends of $host.test"
	done
	audit_none '.event == "open" and .verdict == "allow" and (.host |
		test("^(raw|fork|cap|stuck|pass|other|open|plain|alt)[.]test$") | not)'
	# one that shows there is more; it is not passed on
	audit_has '.event == "close" and .host == "cap.test" and .bytes_down <= 65537'
	[ "$(jq -c 'select(.event == "close" and .cause == "header_timeout")' "$T/audit" | wc -l)" = 20 ] ||
		fail "${where}slow heads"
	[ "$(jq -c 'select(.event == "close" and .cause == "hello_timeout")' "$T/audit" | wc -l)" = 20 ] ||
		fail "${where}slow handshakes"
	! grep -q "$value" "$T/audit" "$T/out-$without" || fail "${where}the secret is on record"
	grep -q 'token=1' "$T/audit" && fail "${where}a query is on record"
done

# What got to the servers: nothing of what was refused, credentials where they belong.
got=$(jq -r 'select(.path) | [.kind, .method, .path] | join(" ")' "$NET/access" | sort -u)
[ "$got" = "http GET /ok
https GET /ok" ] || fail "a server was asked: $got"
got=$(jq -r 'select(.headers // [] | any(. == ["X-Step", "own"])) | .headers[]
	| select(.[0] | ascii_downcase == "authorization") | .[1]' "$NET/access" | sort -u)
[ "$got" = "Bearer $value" ] || fail "credentials: $got"
got=$(jq -r 'select(.kind == "http" and (.headers // [] | any(. == ["X-Step", "placeholder"]))) | .headers[]
	| select(.[0] == "X-Key") | .[1]' "$NET/access")
[[ $got = callgate-secret-KEY-* && $got != *"$value"* ]] || fail "elsewhere: $got"
[ "$(jq -c 'select(.headers // [] | any(.[0] | ascii_downcase | . == "upgrade" or
	. == "http2-settings"))' "$NET/access" | wc -l)" = 0 ] ||
	fail "an upgrade was passed on"

# Names until there are no more.
cat >"$T/expected" <<'END'
exhausted [0, 2] 5000 True
one more later
a known name b'x'
one that was there 0
END
for without in "" netns namespaces; do
	where=${without:+without $without: }
	LIVE_WITHOUT=$without net_run -r "$T/home" -- "$PYTHON" "$T/home/net-negative.py" exhaust "$ports" \
		>"$T/out" 2>&1
	diff "$T/expected" "$T/out" >"$T/diff" || fail "${where}expected (<), got (>): $(cat "$T/diff")"
	audit_has '.event == "dns" and .verdict == "deny" and .reason == "pool_exhausted" and (.host |
		endswith(".wild.test"))'
	# Each is counted, though not each has a record of its own.
	counted=$(jq -s '[.[] | select(.event == "dns") | .count // 1] | add' "$T/audit")
	[ "$counted" -ge 900 ] || fail "${where}names on record: $counted"
done
