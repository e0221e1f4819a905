#!/bin/bash
# Databases: redis-cli without TLS, and psql with sslmode=require, whose protocol negotiates TLS in its own way.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../net.sh"
need jq redis-cli redis-server
bin=$(dirname "$(readlink -f "$(find /usr/lib/postgresql/*/bin -name initdb 2>/dev/null | tail -n 1)")" 2>/dev/null)
net_ca db.test
mkdir "$NET/db"
cp "$NET/server.key" "$NET/server.crt" "$NET/db"
cd "$NET/db" || die "cd"

# start IS-THERE COMMAND…: a server on some free port, which is $port then; {} in its arguments stands for the port.
start()
{
	local there=$1 pid
	shift
	for _ in 1 2 3 4 5; do
		port=$((RANDOM % 20000 + 20000))
		"${@//\{\}/$port}" >"$NET/log" 2>&1 </dev/null &
		pid=$!
		for _ in $(seq 200); do
			kill -0 "$pid" 2>/dev/null || continue 2
			"$there" >/dev/null 2>&1 && live_kept+=("$pid") && return
			sleep 0.1
		done
		kill "$pid"
	done
	die "it does not start: $*: $(tail -n 5 "$NET/log")"
}

# shellcheck disable=SC2317 # start() calls it
is_redis() { [ "$(redis-cli -p "$port" ping)" = PONG ]; }
start is_redis redis-server --port "{}" --bind 127.0.0.1 --save "" --dir "$NET/db"
redis=$port

# As a user as whom it is willing to run, with a name, which initdb asks for.
as=()
[ "$(id -u)" != 0 ] || as=(setpriv --reuid=nobody --regid=nogroup --clear-groups --)
postgres=
# shellcheck disable=SC2317 # start() calls it
is_postgres() { "$bin/pg_isready" -h 127.0.0.1 -p "$port"; }
if [ -x "$bin/initdb" ] && id -un >/dev/null 2>&1; then
	printf secret >password
	chmod 600 server.key
	if [ "$(id -u)" = 0 ]; then
		chmod 711 "$T" "$NET"
		chown -R nobody:nogroup "$NET/db"
	fi
	"${as[@]}" "$bin/initdb" -D data -A scram-sha-256 -U me --pwfile=password --no-sync >"$NET/log" 2>&1 ||
		die "initdb: $(tail -n 5 "$NET/log")"
	cat >>data/postgresql.conf <<-EOF
		fsync = off
		ssl = on
		ssl_key_file = '$NET/db/server.key'
		ssl_cert_file = '$NET/db/server.crt'
		listen_addresses = '127.0.0.1'
		unix_socket_directories = ''
		dynamic_shared_memory_type = mmap
	EOF
	start is_postgres "${as[@]}" "$bin/postgres" -D "$NET/db/data" -p "{}"
	postgres=$port
fi

net_policy "{
	\"allow\": [
		{\"host\": \"db.test\", \"port\": ${postgres:-5432}, \"proto\": \"tcp\", \"private\": true},
		{\"host\": \"redis.test\", \"port\": $redis, \"proto\": \"tcp\", \"private\": true}],
	\"resolve\": {\"db.test\": \"127.0.0.1\", \"redis.test\": \"127.0.0.1\"}}"
mkdir "$T/in"
cat >"$T/in/redis" <<EOF
r="redis-cli -h redis.test -p $redis"
\$r flushall
\$r set a b
\$r get a
seq 20000 | sed 's/.*/rpush list &/' | \$r | tail -n 1
\$r lrange list 0 -1 | sha256sum
head -c 2000000 /dev/zero | tr '\0' x | \$r -x set big
\$r strlen big
seq 50 | sed 's/.*/set k& &/; s/\$/\r/' | \$r --pipe | tail -n 1
redis-cli -h redis.test -p 1 get a 2>&1
redis-cli -h 127.0.0.1 -p $redis get a 2>&1
EOF
cat >"$T/redis.expected" <<EOF
OK
OK
b
20000
$(seq 20000 | sha256sum)
OK
2000000
errors: 0, replies: 50
Could not connect to Redis at redis.test:1: Connection refused
Could not connect to Redis at 127.0.0.1:$redis: Connection refused
EOF
cat >"$T/in/postgres" <<EOF
export PGPASSWORD=secret
at="host=db.test port=$postgres user=me dbname=postgres"
ask() { psql -XqAt "\$at sslmode=require" "\$@"; }
ask -c "select ssl, version from pg_stat_ssl where pid = pg_backend_pid()"
ask -c "drop table if exists x; create table x(a int, b text)"
seq 30000 | sed 's/\$/,text of this row/' | ask -c "copy x from stdin with (format csv)"
ask -c "select sum(a), count(b) from x"
ask -c "copy x(a) to stdout" | sha256sum
ask -c "select repeat('x', 3000000)" | wc -c
for i in 1 2 3 4 5 6; do ask -c "select \$i" & done | sort
wait
psql -XqAt "\$at sslmode=disable" -c "select ssl from pg_stat_ssl where pid = pg_backend_pid()"
ask -c "select 1/0" 2>&1
psql "host=db.test port=1 sslmode=require" 2>&1 | grep -c 'Connection refused'
EOF
cat >"$T/postgres.expected" <<EOF
t|TLSv1.3
450015000|30000
$(seq 30000 | sha256sum)
3000001
1
2
3
4
5
6
f
ERROR:  division by zero
2
EOF
for without in "" netns; do
	export LIVE_WITHOUT=$without
	where=${without:+without $without: }
	for which in redis postgres; do
		[ -n "${!which}" ] || continue
		net_run -w "$T/in" -- bash "$T/in/$which" >"$T/out" 2>"$T/err"
		cmp -s "$T/$which.expected" "$T/out" ||
			fail "${where}$which: $(diff "$T/$which.expected" "$T/out" | head -n 20); $(head -n 5 "$T/err")
			$(jq -c 'select(.verdict == "deny") |
			[.event, .syscall, .host, .path, .reason]' "$T/audit" | sort | uniq -c | head -n 20)"
		audit_has ".event == \"open\" and .port == ${!which} and .verdict == \"allow\" and .proto == \"tcp\""
		audit_has '.port == 1 and .verdict == "deny" and .reason == "port_not_granted"'
		audit_none '.event == "request"'
	done
	# What fails for a reason of its own was denied nothing: to look for the name was none of the program's ideas.
	net_run --json -- redis-cli -h redis.test -p "$redis" -a wrong get a >"$T/json" 2>&1
	jq -es 'last | .denials == []' "$T/json" >/dev/null || fail "${where}denied: $(jq -c .denials "$T/json")"
done
[ -z "$postgres" ] || kill -INT "${live_kept[@]}"
[ -z "$postgres" ] || wait "${live_kept[@]}"
[ -n "$postgres" ] || echo "without a postgres: it is not installed, or does not run as this user"
exit $live_failed
