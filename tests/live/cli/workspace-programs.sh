#!/bin/bash
# Programs in a workspace do the same as natively, and ws apply makes the directory the same: git, tar, make, sqlite3,
# editors that save by renaming. With CHECK_LONG=1 also the workloads, of node, pip and others.
# shellcheck disable=SC2016 # the programs inside expand these
. "$(dirname "$0")/../lib.sh"
need jq git make sqlite3 "$PYTHON"
export LIVE_COW=1
live_env+=(GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@b.c GIT_COMMITTER_NAME=A GIT_COMMITTER_EMAIL=a@b.c
	"GIT_AUTHOR_DATE=2025-01-01T00:00:00Z" "GIT_COMMITTER_DATE=2025-01-01T00:00:00Z" GIT_CONFIG_NOSYSTEM=1)
TREE_SKIP='\.git/index$'

mkdir "$T/w"
cg run --json --cow --profile minimal -w "$T/w" -r /usr -x /usr/bin -- /bin/true >"$T/result" 2>"$T/err"
if [ "$(jq -r .error.code "$T/result")" = view_failed ]; then
	layer mountns && layer userns && [ "$(stat -f -c %T "$TMPDIR")" != overlayfs ] &&
		fail "refused, although there are namespaces: $(cat "$T/err")"
	exit $live_failed
fi
cg ws discard "$(jq -r .workspace.id "$T/result")" || die "cannot be discarded"

prepare()
{
	cp -r "$SRC/base" "$1/src"
	(cd "$1" && env "${live_env[@]}" git init -q -b main . && git config gc.auto 0 && git config core.fsync none &&
		git config pack.threads 1 && git add src && env "${live_env[@]}" git commit -q -m first) || die "git"
	touch "$T/before"
}
# Of the objects that were there, none is copied; git clone finds with one that it cannot link.
before_apply()
{
	local copied
	[ -d "$1" ] || return 0 # the directory was copied: ws diff makes the layer
	copied=$(cd "$1" && find .git/objects -type f ! -newer "$T/before" 2>/dev/null | wc -l)
	[ "$copied" -le 1 ] || fail "objects that were copied: $copied"
}
same git bash -ec 'git clone -q . copy; git -C copy log --oneline; rm -rf copy; echo a >>src/io.h; git commit -q -a -m a
	git checkout -q -b side HEAD~; echo b >b; git add b; git commit -q -m b; git rebase -q main; git log --oneline
	git status --short'
same gc bash -ec 'git gc -q --prune=now; git fsck --strict 2>&1; git mv src/io.h src/moved.h; git stash -q
	git stash pop -q; git count-objects -v'
prepare()
{
	mkdir "$1/in" "$1/src"
	echo x >"$1/in/one"
	ln "$1/in/one" "$1/in/two"
	ln -s one "$1/in/link"
	truncate -s 3M "$1/in/sparse"
	tar -C "$1" --mtime=@0 --sort=name -cSf "$1/a.tar" in
	for i in {1..20}; do echo "int f$i(void) { return $i; }" >"$1/src/f$i.c"; done
	printf '%s\n' 'all: $(patsubst %.c,%.o,$(wildcard src/*.c))' '	cat $^ >all' '%.o: %.c' '	sort $< >$@' \
		>"$1/Makefile"
}
same tar bash -ec 'rm -r in; tar -xSf a.tar; stat -c "%n %h %s %Y" in/*; tar -df a.tar'
same make make -s -j2
same sqlite3 bash -ec 'sqlite3 a.db "pragma journal_mode=wal; create table t(a); insert into t values (1);"
	for i in 1 2 3; do sqlite3 -cmd ".timeout 5000" a.db "insert into t values ($i);" & done; wait
	sqlite3 a.db "select sum(a) from t; pragma journal_mode=delete; drop table t; vacuum;"; rm a.db; ls'
same saving bash -ec 'sed -i s/1/one/ Makefile src/*; "$0" -c "
import os
with open(\"new\", \"w\") as file:
    file.write(\"saved\")
os.replace(\"new\", \"in/one\")"; cat in/one in/two
	[ ! -x /usr/bin/vim ] || vim -u NONE -es -c "%s/one/y/" -c wq src/f1.c
	cat src/f1.c' "$PYTHON"

[ -n "${CHECK_LONG:-}" ] || exit $live_failed
for each in build editors git node programs python-data python-processes python-sqlite python-venv sqlite \
	unix-programs; do
	bash "$SRC/tests/live/workloads/$each.sh" >"$T/log" 2>&1
	status=$?
	{ [ $status = 0 ] || [ $status = 77 ]; } || fail "$each in a workspace: $(tail -n 5 "$T/log")"
done
