#!/bin/bash
# python3's sqlite3: transactions, WAL, rollback, a second connection.
. "$(dirname "$0")/../lib.sh"
prepare()
{
	cat >"$1/db.py" <<'EOF'
import os, sqlite3
for mode in ("delete", "wal", "truncate", "memory"):
    db = sqlite3.connect("data-%s.db" % mode)
    print(db.execute("pragma journal_mode=%s" % mode).fetchone())
    db.execute("create table t (id integer primary key, name text, n real)")
    with db:
        db.executemany("insert into t (name, n) values (?, ?)", (("n%d" % i, i * 0.5) for i in range(5000)))
    try:
        with db:
            db.execute("delete from t")
            raise RuntimeError
    except RuntimeError:
        pass
    other = sqlite3.connect("data-%s.db" % mode)
    print(mode, other.execute("select count(*), sum(n) from t").fetchone(), sorted(os.listdir(".")))
    try:
        db.execute("begin exclusive")
        other.execute("pragma busy_timeout=10")
        other.execute("insert into t (name) values ('x')")
    except sqlite3.OperationalError as e:
        print(e)
    db.rollback()
    other.close()
    db.execute("vacuum")
    db.close()
print(sorted(os.listdir(".")))
EOF
}
same sqlite "$PYTHON" db.py
