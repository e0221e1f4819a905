#!/bin/bash
# Owners of descriptors, O_ASYNC, FIOASYNC, F_SETSIG and questions by ioctl: as natively, to the run's own processes.
. "$(dirname "$0")/../lib.sh"
need nginx curl jq
prepare()
{
	cp "$SRC/tests/cases/async.py" "$1"
}
same async "$PYTHON" -u async.py

# On record is the owner, not the address of the struct.
cat >"$T/owner.py" <<'EOT'
import fcntl, os, struct
read, write = os.pipe()
fcntl.fcntl(read, 15, struct.pack("ii", 1, os.getpid()))
fcntl.fcntl(read, 15, struct.pack("ii", 2, os.getpgrp()))
try:
    fcntl.fcntl(read, 15, struct.pack("ii", 1, 4000000))
except ProcessLookupError:
    pass
print("0x%x 0x%x 0x%x" % (os.getpid(), 2**32 - os.getpgrp(), 4000000))
EOT
mkdir "$T/o" && mv "$T/owner.py" "$T/o/"
cg_run extended --audit "$T/log" -w "$T/o" -- "$PYTHON" owner.py >"$T/out" 2>"$T/err" ||
	fail "owners: $(cat "$T/err")"
"$CALLGATE" audit show --json "$T/log" | jq -r 'select(.syscall == "fcntl" and .args.cmd == 15) | .args.arg' |
	tr '\n' ' ' | sed 's/ $/\n/' | diff "$T/out" - >&2 ||
	fail "the log names other owners than $(cat "$T/out" "$T/err")"

# nginx starts no worker without FIOASYNC and F_SETOWN. Four of them serve over a unix socket.
prepare()
{
	mkdir "$1/www" "$1/tmp"
	echo served >"$1/www/index.html"
	cat >"$1/nginx.conf" <<EOT
worker_processes 4;
daemon off;
pid $1/pid;
error_log $1/log;
events { worker_connections 64; }
http {
	access_log off;
	client_body_temp_path $1/tmp/a;
	proxy_temp_path $1/tmp/b;
	fastcgi_temp_path $1/tmp/c;
	uwsgi_temp_path $1/tmp/d;
	scgi_temp_path $1/tmp/e;
	server { listen unix:$1/socket; root $1/www; }
}
EOT
}
mkdir "$T/n" && prepare "$T/n"
as=()
if [ "$(id -u)" = 0 ]; then # whose workers change their user, for which they lack the capabilities
	as=(--user nobody)
	chown -R nobody "$T/n"
	chmod 711 "$T"
fi
# shellcheck disable=SC2016 # the inner shell's
TMPDIR=$T/n/tmp cg run "${as[@]}" --profile extended -w "$T/n" -- bash -c 'nginx -c "$PWD/nginx.conf" 2>/dev/null &
	master=$!
	for _ in $(seq 600); do [ -S socket ] && break; sleep 0.1; done
	for _ in 1 2 3; do curl -s --unix-socket socket http://x/; done
	for _ in $(seq 600); do [ "$(pgrep -c -P $master)" = 4 ] && break; sleep 0.1; done
	pgrep -c -P $master
	kill -HUP $master; sleep 0.5; curl -s --unix-socket socket http://x/
	kill -QUIT $master; wait $master; echo $?' >"$T/out" 2>"$T/err"
[ "$(tr '\n' ' ' <"$T/out")" = "served served served 4 served 0 " ] ||
	fail "nginx: $(cat "$T/out" "$T/err"; tail -n 5 "$T/n/log")"
