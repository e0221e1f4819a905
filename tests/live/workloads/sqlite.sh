#!/bin/bash
# The sqlite3 command in WAL mode, two processes at once, dump, backup and a damaged file.
# shellcheck disable=SC2016 # the programs inside expand these
. "$(dirname "$0")/../lib.sh"
need sqlite3
same sqlite3 bash -c '
	sqlite3 a.db "pragma journal_mode=wal; create table t(a, b); insert into t values (1, 2), (3, 4);"
	for i in 1 2 3 4 5; do sqlite3 -cmd ".timeout 5000" a.db "insert into t values ($i, $i * $i);" & done; wait
	sqlite3 a.db "select count(*), sum(b) from t; pragma integrity_check;"
	sqlite3 a.db ".backup b.db" ".dump" | sort | sha256sum
	sqlite3 b.db "select a, b from t order by a, b; pragma wal_checkpoint(truncate);"
	sqlite3 a.db "pragma journal_mode=delete; drop table t; vacuum;" && ls
	printf "not a database at all, honestly" >bad.db; sqlite3 bad.db "select * from t" 2>&1; rm *.db; ls'
