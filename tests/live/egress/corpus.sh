#!/bin/bash
# Sends requests that two parsers may understand differently (tests/cases/net_corpus*.py) through egress to widely used
# servers. The requests that each server carried out must be those on record, one by one and in the same order.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../net.sh"
need curl jq
servers=$SRC/tests/cases/http-servers
net_ca corpus.test
mkdir -p "$T/home/plan" "$NET/s"
chmod 755 "$T" "$NET" "$NET/s" # the workers of some are nobody's
cp "$SRC"/tests/cases/net-corpus.py "$SRC"/tests/cases/net_corpus*.py "$servers/hostile.py" "$T/home/"
cp "$servers/cgi.sh" "$NET/s/"
plan=
# Each server gets every sixth case, beginning with another one. CORPUS_PART=1: all get all, as was done when this was
# written.
# CORPUS_EVERY: so much less for all. CORPUS_SERVERS: a list, of only these.
CORPUS_EVERY=${CORPUS_EVERY:-1} CORPUS_PART=${CORPUS_PART:-6}
[ "$LIVE_TIMEOUT" -ge 900 ] || LIVE_TIMEOUT=900

# free_ports N: so many different ones, in one line.
free_ports()
{
	"$PYTHON" -c 'import socket, sys
held = [socket.create_server(("127.0.0.1", 0)) for _ in range(int(sys.argv[1]))]
print(*(s.getsockname()[1] for s in held))' "$1"
}

# server NAME LOG MEMBERS COMMAND…: starts it; it tells its port in $NET/s/NAME, or has `port` as its own. MEMBERS: of
# its entry in the plan.
server()
{
	local name=$1 log=$2 members=$3
	shift 3
	: >"$log"
	chmod 666 "$log"
	"$@" </dev/null >"$NET/s/$name.out" 2>&1 &
	live_kept+=($!)
	if [ -z "${port:-}" ]; then
		awaited test -s "$NET/s/$name"
		read -r port <"$NET/s/$name" || die "$name: $(tail -n 3 "$NET/s/$name.out")"
	else
		awaited curl -s -k -o /dev/null "http://127.0.0.1:$port/" ||
			die "$name: $(tail -n 3 "$NET/s/$name.out")"
	fi
	add "$name" "$log" "$members"
}

# add NAME LOG MEMBERS: an entry of the plan for `port`.
add()
{
	plan+="${plan:+,}{\"name\": \"$1\", \"host\": \"corpus.test\", \"port\": $port, \"log\": \"$2\"$3}"
	port=
}

lacks=
# wants NAME COMMAND…: this server is to be asked, and its commands are there.
wants()
{
	local name=$1 command
	shift
	case " ${CORPUS_SERVERS:-$name} " in *" $name "*) ;; *) return 1 ;; esac
	for command; do
		command -v "$command" >/dev/null && continue
		lacks+=" $command"
		return 1
	done
}

part=", \"every\": $((CORPUS_EVERY * CORPUS_PART))"
port=
wants python && server python "$NET/s/python.log" "$part" "$PYTHON" "$servers/server.py" "$NET/s/python" \
	"$NET/s/python.log"
wants lazy && server lazy "$NET/s/lazy.log" "$part, \"blind\": true" "$PYTHON" "$servers/server.py" "$NET/s/lazy" \
	"$NET/s/lazy.log" lazy
wants hostile && server hostile "$NET/s/hostile.log" ", \"answers\": true, \"every\": $CORPUS_EVERY" "$PYTHON" \
	"$servers/hostile.py" "$NET/s/hostile" "$NET/s/hostile.log"
wants proxied && server proxied "$NET/s/proxied.log" "$part, \"proxy\": true" "$PYTHON" "$servers/server.py" \
	"$NET/s/proxied" "$NET/s/proxied.log"
if wants node node; then
	server node "$NET/s/node.log" "$part" node --insecure-http-parser "$servers/server.js" "$NET/s/node" \
		"$NET/s/node.log"
	server node-h2 "$NET/s/node-h2.log" "$part, \"tls\": true, \"h2\": true" \
		node "$servers/server.js" "$NET/s/node-h2" "$NET/s/node-h2.log" "$NET/server.key" "$NET/server.crt"
fi
if wants gunicorn gunicorn; then
	port=$(free_ports 1)
	server gunicorn "$NET/s/gunicorn.log" "$part" env CORPUS_LOG="$NET/s/gunicorn.log" PYTHONDONTWRITEBYTECODE=1 \
		gunicorn --chdir "$servers" --worker-class gthread --threads 48 --keep-alive 10 \
		-b "127.0.0.1:$port" server:app
	: >"$NET/s/gunicorn.log"
fi
if wants go go && go_program net-corpus-go "$servers/server.go"; then
	go=$go_program
	server go "$NET/s/go.log" "$part" "$go" "$NET/s/go" "$NET/s/go.log"
	server go-h2 "$NET/s/go-h2.log" "$part, \"tls\": true, \"h2\": true" "$go" "$NET/s/go-h2" "$NET/s/go-h2.log" \
		"$NET/server.key" "$NET/server.crt"
	server go-tls "$NET/s/go-tls.log" ", \"tls\": true, \"every\": $((CORPUS_EVERY * 9))" "$go" "$NET/s/go-tls" \
		"$NET/s/go-tls.log" "$NET/server.key" "$NET/server.crt"
fi
if wants java java javac; then
	javac -J-XX:TieredStopAtLevel=1 -d "$NET/s" "$servers/HttpServers.java" 2>"$T/err" ||
		die "javac: $(cat "$T/err")"
	server java "$NET/s/java.log" "$part" java -XX:TieredStopAtLevel=1 \
		-cp "$NET/s" HttpServers "$NET/s/java" "$NET/s/java.log"
fi
if wants nginx nginx; then
	read -r port h2 < <(free_ports 2)
	cat >"$NET/s/nginx.conf" <<END
daemon off; pid $NET/s/nginx.pid; error_log $NET/s/nginx.error; worker_processes 1;
events { worker_connections 500; }
http {
	log_format done escape=none '\$request_method\t\$request_uri\t\$http_host\t\$content_length\t-\t\$status';
	map \$status \$carried { ~^[123] 1; default 0; }
	client_body_temp_path $NET/s/b; proxy_temp_path $NET/s/p;
	fastcgi_temp_path $NET/s/f; uwsgi_temp_path $NET/s/u; scgi_temp_path $NET/s/c;
	underscores_in_headers on; ignore_invalid_headers off; merge_slashes on; large_client_header_buffers 4 40k;
	server {
		listen 127.0.0.1:$port;
		access_log $NET/s/nginx.log done if=\$carried;
		location / { return 200 "served \$request_method \$request_uri\n"; }
	}
	server {
		listen 127.0.0.1:$h2 ssl http2;
		ssl_certificate $NET/server.crt; ssl_certificate_key $NET/server.key;
		access_log $NET/s/nginx-h2.log done if=\$carried;
		location / { return 200 "served \$request_method \$request_uri\n"; }
	}
}
END
	server nginx "$NET/s/nginx.log" "$part, \"blind\": true" nginx -c "$NET/s/nginx.conf"
	port=$h2
	add nginx-h2 "$NET/s/nginx-h2.log" "$part, \"tls\": true, \"h2\": true, \"blind\": true"
fi
if wants apache apache2; then
	port=$(free_ports 1)
	cat >"$NET/s/apache.conf" <<END
ServerRoot $NET/s
ServerName corpus.test
PidFile $NET/s/apache.pid
ErrorLog $NET/s/apache.error
Listen 127.0.0.1:$port
$(for module in mpm_event authz_core alias env cgid; do
	echo "LoadModule ${module}_module /usr/lib/apache2/modules/mod_$module.so"
done)
$([ "$(id -u)" != 0 ] || echo "User www-data")
ScriptSock $NET/s/cgid
HttpProtocolOptions Unsafe LenientMethods Allow0.9
AllowEncodedSlashes NoDecode
LimitRequestLine 60000
LimitRequestFieldSize 60000
SetEnv CORPUS_LOG $NET/s/apache.log
ScriptAliasMatch ^ $NET/s/cgi.sh
END
	server apache "$NET/s/apache.log" "$part, \"blind\": true" apache2 -D FOREGROUND -f "$NET/s/apache.conf"
	: >"$NET/s/apache.log"
fi
if wants lighttpd lighttpd; then
	port=$(free_ports 1)
	cat >"$NET/s/lighttpd.conf" <<END
server.modules = ("mod_alias", "mod_setenv", "mod_cgi")
server.document-root = "$NET/s"
server.bind = "127.0.0.1"
server.port = $port
server.errorlog = "$NET/s/lighttpd.error"
server.max-request-field-size = 60000
server.http-parseopts = ("header-strict" => "disable", "host-strict" => "disable",
	"host-normalize" => "disable", "url-normalize" => "disable")
setenv.add-environment = ("CORPUS_LOG" => "$NET/s/lighttpd.log")
alias.url = ("/" => "$NET/s/cgi.sh/")
cgi.assign = (".sh" => "/bin/sh")
END
	server lighttpd "$NET/s/lighttpd.log" "$part" lighttpd -D -f "$NET/s/lighttpd.conf"
	: >"$NET/s/lighttpd.log"
fi

plan="[$plan]"
echo "$plan" >"$T/home/plan/plan.json"
jq -e . "$T/home/plan/plan.json" >/dev/null || die "no plan: $plan"
net_policy "$(jq -c --arg ca "$NET/ca.pem" '{allow: [.[] | {host, port, proto: (if .tls then "https" else "http" end),
	private: true,
	http: ["GET,HEAD,POST,PUT,PATCH,DELETE,OPTIONS,FOO,QUERY,get /c/**", "WEBSOCKET /ws/**"] |
	map(sub(",get"; ""))}],
	resolve: {"corpus.test": "127.0.0.1"}, upstream_ca: $ca, proxy: true}' <<<"$plan")"

for without in "" ${CORPUS_WITHOUT-netns}; do
	export LIVE_WITHOUT=$without
	[ -z "$without" ] || jq 'map(.every *= 9)' <<<"$plan" >"$T/home/plan/plan.json"
	jq -r '.[].log' "$T/home/plan/plan.json" | while read -r log; do : >"$log"; done
	net_run -r "$T/home" -w "$T/home/plan" -- "$PYTHON" "$T/home/net-corpus.py" ask "$T/home/plan" \
		>"$T/out" 2>"$T/err" ||
		fail "${without:+without $without: }it said: $(tail -n 5 "$T/out" "$T/err")"
	sleep 0.5 # what was sent before an end is carried out after it
	"$PYTHON" "$T/home/net-corpus.py" compare "$T/home/plan" "$T/audit" >"$T/differs" 2>"$T/counts" ||
		fail "${without:+without $without: }$(wc -l \
		<"$T/differs") differ: $(head -n 40 "$T/differs") $(tail -n 3 "$T/counts")"
	cat "$T/counts"
	[ -z "${CORPUS_KEEP:-}" ] || cp -r "$T/audit" "$T/home/plan" "$T/differs" "$NET/s" "$CORPUS_KEEP/"
done
if [ -x "$BUILD/tests/fuzz/fuzz_http1" ]; then
	"$PYTHON" "$T/home/net-corpus.py" seeds "$T/seeds"
	"$BUILD/tests/fuzz/fuzz_http1" "$T"/seeds/* >"$T/out" 2>&1 || fail "fuzz_http1: $(tail -n 3 "$T/out")"
fi
[ -z "$lacks" ] || echo "not installed, and so not asked:$lacks"
