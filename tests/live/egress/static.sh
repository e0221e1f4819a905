#!/bin/bash
# Programs with their own resolver and without shared libraries: a C program with musl, and a Go program with its own
# TLS, which trusts the run's bundle of certificates.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../net.sh"
need jq
net_ca open.test
net_servers http https
https=$(net_port https) http=$(net_port http)
mkdir "$T/w"

if go_program net-go "$SRC/tests/cases/net-go.go"; then
	cp "$go_program" "$T/w/net-go" || die "cp"
fi
musl=
command -v musl-gcc >/dev/null && musl=yes
if [ -n "$musl" ]; then
	musl-gcc -static -O1 -o "$T/w/net-static" "$SRC/tests/cases/net-static.c" || die "musl-gcc"
fi
[ -n "$musl" ] || [ -x "$T/w/net-go" ] || skip "neither musl-gcc nor go is installed"

net_policy "{
	\"allow\": [
		{\"host\": \"open.test\", \"port\": $https, \"proto\": \"https\", \"private\": true,
		\"http\": [\"GET /ok\", \"GET /size/*\"]},
		{\"host\": \"*.plain.test\", \"port\": $http, \"proto\": \"http\", \"private\": true,
		\"http\": [\"GET /ok\"]},
		{\"host\": \"named.test\", \"port\": $http, \"proto\": \"http\", \"private\": true,
		\"http\": [\"GET /ok\"]}],
	\"resolve\": {\"open.test\": \"127.0.0.1\", \"www.plain.test\": \"127.0.0.1\", \"named.test\": \"127.0.0.1\"},
	\"upstream_ca\": \"$NET/ca.pem\"}"
# A wildcard's name is in no hosts file: it is the DNS that is asked. musl wants the answer by UDP, from port 53 itself,
# where a user without a network namespace may not be served: then it knows the names of the hosts file alone.
may_serve()
{
	live_layers=
	layer netns || { [ -z "${OUTER_FILTER:-}" ] && "$PYTHON" \
		-c 'import socket; socket.socket().bind(("127.77.77.77", 53))' 2>/dev/null; }
}
cat >"$T/w/musl" <<EOF
cd $T/w
for _ in 1 2 3 4 5; do ./net-static \$1 $http /ok; done
./net-static \$1 $http /none | cut -c 1-12
./net-static open.test 1 /ok 2>&1
[ \$1 = named.test ] || ./net-static elsewhere.test 443 /
EOF
cat >"$T/musl.expected" <<EOF
HTTP/1.1 200 ok
HTTP/1.1 200 ok
HTTP/1.1 200 ok
HTTP/1.1 200 ok
HTTP/1.1 200 ok
HTTP/1.1 403
connect: Connection refused
connect: Connection refused
EOF
cat >"$T/w/go" <<EOF
cd $T/w
./net-go http://www.plain.test:$http/ok https://elsewhere.test/ https://open.test:1/ \
	https://open.test:$https/size/3000000 https://open.test:$https/ok |
	sed 's/failed: .* lookup .*no such host/no such host/; s/failed: .*connection refused/refused/'
EOF
cat >"$T/go.expected" <<EOF
200 OK ok
no such host
refused
200 OK 3000000 bytes
200 OK ok
50 times 200 OK ok
EOF
for without in "" netns; do
	export LIVE_WITHOUT=$without
	where=${without:+without $without: }
	name=www.plain.test
	may_serve || name=named.test
	for which in musl go; do
		[ -x "$T/w/net-${which/musl/static}" ] || continue
		net_run -w "$T/w" -- bash "$T/w/$which" "$name" >"$T/out" 2>"$T/err"
		[ "$which-$name" != musl-www.plain.test ] ||
			sed -i '${/^elsewhere.test: Name does not resolve$/d}' "$T/out"
		cmp -s "$T/$which.expected" "$T/out" ||
			fail "${where}$which: $(diff "$T/$which.expected" "$T/out" | head -n 20); $(head -n 5 "$T/err")
			$(jq -c 'select(.verdict == "deny") |
			[.event, .syscall, .host, .path, .reason]' "$T/audit" | sort | uniq -c | head -n 20)"
		audit_has '.event == "request" and (.host == "www.plain.test" or .host == "named.test") and
			.path == "/ok" and .verdict == "allow"'
		[ "$which-$name" = musl-named.test ] || audit_has '.event == "dns" and .host == "elsewhere.test" and
			.reason == "no_rule"'
		audit_has '.port == 1 and .verdict == "deny" and .reason == "port_not_granted"'
	done
done
