# shellcheck shell=bash
# For tests of the network; sourced after lib.sh. Servers are local, and names are resolved by the policy itself
# ("resolve").

# net_ca NAME…: NET is a directory with ca.pem, and server.pem (key and certificate) for those names.
net_ca()
{
	local name names=
	need openssl
	NET=$T/net
	mkdir -p "$NET"
	for name in "$@"; do
		case $name in
		*[!0-9.]*) names="$names,DNS:$name" ;;
		*) names="$names,IP:$name" ;;
		esac
	done
	{
		openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 3 \
			-subj "/CN=callgate test CA" \
			-addext "keyUsage=critical,keyCertSign" -keyout "$NET/ca.key" -out "$NET/ca.pem" &&
			openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$1" \
			-keyout "$NET/server.key" \
				-out "$NET/server.csr" &&
			openssl x509 -req -in "$NET/server.csr" -CA "$NET/ca.pem" -CAkey "$NET/ca.key" -CAcreateserial \
			-days 2 \
				-extfile <(echo "subjectAltName=${names#,}") -out "$NET/server.crt" &&
			cat "$NET/server.key" "$NET/server.crt" >"$NET/server.pem"
	} >"$NET/openssl.log" 2>&1 || die "openssl: $(tail -n 3 "$NET/openssl.log")"
}

# net_servers KIND…: starts net-server.py; net_port KIND tells the port. They go with the test.
net_servers()
{
	NET=$T/net
	mkdir -p "$NET"
	"$PYTHON" "$SRC/tests/live/net-server.py" "$NET" "$@" </dev/null >"$NET/log" 2>&1 &
	live_kept+=($!)
	net_await "the servers" test -s "$NET/ports"
}

net_port()
{
	jq -r --arg kind "$1" '.[$kind]' "$NET/ports"
}

# net_free_port TYPE: a port that is free at this moment, as is the next one, below the kernel's own choice. TYPE:
# STREAM or DGRAM.
net_free_port()
{
	"$PYTHON" -c '
import random, socket, sys
while True:
    port = random.randrange(10000, 32000)
    try:
        for at in port, port + 1:
            socket.socket(type=getattr(socket, "SOCK_" + sys.argv[1])).bind(("", at))
        print(port)
        break
    except OSError: pass' "$1"
}

# net_await WHAT COMMAND…: as await, and with the end of the servers' log.
net_await()
{
	awaited "${@:2}" >/dev/null 2>&1 || die "not within a minute: $1: $(tail -n 5 "$NET/log" 2>/dev/null)"
}

# net_policy JSON: $NET/policy.json, which extends `extended` with this "network" (an object); NET_MORE: further
# members.
net_policy()
{
	mkdir -p "${NET:=$T/net}"
	jq -n --argjson network "$1" --argjson more "${NET_MORE:-{\}}" \
		'{version: 1, extends: ["extended"], network: $network} + $more' >"$NET/policy.json" || die "net_policy"
}

# net_run [OPTION…] -- PROGRAM…: under that policy; the audit log goes to $T/audit.
net_run()
{
	rm -f "$T/audit"
	cg run -p "$NET/policy.json" --audit "$T/audit" "$@"
}

net_options=${LIVE_OPTIONS:-} net_require=${LIVE_REQUIRE:-}

# net_take_way WAY: how the runs that follow go: "" as others, "changes": the kernel judges reading; else without these
# layers. Sets where, for messages. False: that way cannot be gone here.
net_take_way()
{
	local kind
	export LIVE_WITHOUT="" LIVE_OPTIONS=$net_options LIVE_REQUIRE=$net_require
	where= # shellcheck disable=SC2034 # the tests'
	if [ "$1" = changes ]; then
		for kind in mountns pidns netns landlock; do
			layer $kind || return
		done
		where="--judge changes: " LIVE_OPTIONS="$net_options --judge changes" LIVE_REQUIRE=kernel-reads
	elif [ -n "$1" ]; then
		where="without $1: " LIVE_WITHOUT=$1
	fi
}

# net_has_or_dead PID HOST:PORT PATH: the server there has a certificate as net_ca made it, and the path; or the
# process, which should be that server, has ended, since another one has the port.
net_has_or_dead()
{
	curl -s -o /dev/null --cacert "$NET/ca.pem" --resolve "$2:127.0.0.1" "https://$2$3" || dead "$1"
}

# net_nghttpd NAME: an HTTP/2 server of the files of $NET/htdocs and of uploads (it gives them back), certificate as
# net_ca made it; sets net_h2, its port.
net_nghttpd()
{
	need nghttpd curl
	mkdir -p "$NET/htdocs"
	: >"$NET/htdocs/up"
	for _ in 1 2 3 4 5; do
		net_h2=$((RANDOM % 20000 + 20000))
		nghttpd --address=127.0.0.1 -d "$NET/htdocs" \
			--echo-upload "$net_h2" "$NET/server.key" "$NET/server.crt" >"$NET/nghttpd.log" 2>&1 &
		live_kept+=($!)
		awaited net_has_or_dead $! "$1:$net_h2" /up
		dead $! || return 0
	done
	die "nghttpd: $(tail -n 3 "$NET/nghttpd.log")"
}

# net_websockets: a server of HTTP/1 with websockets (net-http1.py), certificate as net_ca made it; sets net_ws and
# net_wss, its ports.
net_websockets()
{
	"$PYTHON" "$SRC/tests/cases/net-http1.py" serve "$NET" >"$NET/websocket.log" 2>&1 &
	live_kept+=($!)
	net_await "the websocket server" test -s "$NET/websocket-ports"
	# shellcheck disable=SC2034 # for the tests
	read -r net_ws net_wss <"$NET/websocket-ports"
}

# net_check_served CONDITION: stdin is what servers have served, METHOD and path on a line. They are the requests on
# record for which the condition of jq holds, in whatever order. Not for a pipe: the shell itself must learn of a
# failure.
net_check_served()
{
	sed 's/?.*/?…/' | sort >"$T/server"
	jq -r "select(.event == \"request\" and .verdict == \"allow\" and ($1)) | .method + \" \" + .path" \
		"$T/audit" | sort >"$T/recorded"
	cmp -s "$T/server" "$T/recorded" ||
		fail "${where}recorded is not what was served: $(diff "$T/server" "$T/recorded")"
}

# go_program NAME SOURCE: sets go_program to an executable of SOURCE, without shared libraries; false: there is no Go
# here. Go's standard library takes a minute to build: what is built is kept in tests/cases/kept of the build tree,
# where that can be written to, and others who want it meanwhile wait. Everything that tests build on demand belongs
# there: ./check, `make clean` and core.sh know that directory.
go_program()
{
	local kept=$CASES/kept
	go_program=$kept/$1
	[ ! "$go_program" -nt "$2" ] || return 0
	command -v go >/dev/null || return
	if mkdir -p "$kept" 2>/dev/null && [ -w "$kept" ]; then
		(
			flock 9
			[ "$go_program" -nt "$2" ] || { go_build "$kept/.$1" "$2" && mv "$kept/.$1" "$go_program"; }
		) 9>"$kept/.lock" || die "go: $(tail -n 5 "$T/go.log")"
	else
		go_program=$T/built-$1
		go_build "$go_program" "$2" || die "go: $(tail -n 5 "$T/go.log")"
	fi
}

go_build()
{
	CGO_ENABLED=0 GOCACHE=${GOCACHE:-${HOME:-$T}/.cache/go-build} GO111MODULE=off GOFLAGS="" go build -o "$1" "$2" \
		>"$T/go.log" 2>&1
}
