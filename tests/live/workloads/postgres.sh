#!/bin/bash
# A database server with nothing but a unix socket, System V and POSIX shared memory, and several clients at once.
. "$(dirname "$0")/../lib.sh"
bin=$(dirname "$(readlink -f "$(find /usr/lib/postgresql/*/bin -name initdb 2>/dev/null | tail -n 1)")" 2>/dev/null)
[ -x "$bin/initdb" ] || skip "no postgresql is installed"
mkdir "$T/w"
cat >"$T/w/database" <<'EOF'
set -e
initdb -D data -A trust -U me --no-sync >initdb.log 2>&1 || { tail -n 5 initdb.log; exit 1; }
cat >>data/postgresql.conf <<C
listen_addresses = ''
unix_socket_directories = '$PWD'
fsync = off
shared_memory_type = sysv
dynamic_shared_memory_type = posix
C
pg_ctl -D data -l log -w start >/dev/null || { cat log; exit 1; }
createdb -h "$PWD" -U me test
psql -h "$PWD" -U me -qAt test <<Q
create table x(a int); insert into x select generate_series(1, 100000);
set parallel_setup_cost = 0; set parallel_tuple_cost = 0; set min_parallel_table_scan_size = 0;
set debug_parallel_query = on;
select sum(a), count(*) from x;
Q
pgbench -h "$PWD" -U me -i -q -s 1 test >/dev/null 2>&1
pgbench -h "$PWD" -U me -c 4 -j 2 -t 25 test 2>/dev/null | grep 'actually processed'
pg_ctl -D data -m fast -w stop >/dev/null
EOF
as=()
if [ "$(id -u)" = 0 ]; then # as which it refuses to be started
	as=(--user 54321:54321)
	chmod 711 "$T"
	chown 54321:54321 "$T/tmp" "$T/home" "$T/w"
fi
cg_run extended "${as[@]}" -e "PATH=$bin:/usr/bin:/bin" -w "$T/w" -- bash database >"$T/out" 2>&1
status=$?
[ -s "$T/audit" ] || die "no run: $(head -n 5 "$T/out")"
private=$(jq -r 'select(.type == "header") | .layers.ipcns.active' "$T/audit")
[ "$private" = true ] || skip "it needs System V shared memory, which needs an ipc namespace"
[ $status = 0 ] || fail "it ended with $status"
grep -q '^5000050000|100000$' "$T/out" || fail "no answer: $(head -n 10 "$T/out")"
grep -q ': 100/100$' "$T/out" || fail "not every transaction: $(head -n 10 "$T/out")"
