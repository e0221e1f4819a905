#!/bin/bash
# "judge": "changes": names that the program itself makes match a deny rule: renames, exchanges, hard links, directories
# whose entries would match. Each is judged when it is made, as where reads are judged. And a workdir of 1,000,000
# files: past the bound of the walk the run judges every call, says so, and starts in time.
# shellcheck disable=SC2016 # what is not expanded is jq's
. "$(dirname "$0")/../lib.sh"
need jq
for kind in mountns pidns netns landlock; do
	layer $kind || skip "no run here leaves reading to the kernel"
done
[ -x "$PYTHON" ] || skip "no $PYTHON"
echo '{"version": 1, "extends": ["python"], "filesystem": {"deny": ["**/.env", "@workdir/a/*/key"]}}' >"$T/p.json"
cat >"$T/made.py" <<'EOF2'
import ctypes, errno, os
libc = ctypes.CDLL(None, use_errno=True)

def exchange(one, other):
    if libc.renameat2(-100, one.encode(), -100, other.encode(), 2) < 0:
        raise OSError(ctypes.get_errno(), "renameat2")

def read(path):
    with open(path) as file:
        return file.read().strip()

def tell(call, *names):
    try:
        said = call(*names) or "done"
    except OSError as error:
        said = errno.errorcode[error.errno]
    print(call.__name__, *names, said)

for call in (os.rename, os.link, os.symlink, exchange):
    tell(call, "env", ".env")
    tell(read, ".env")
    tell(call, "env", "a/x/key")
    tell(read, "a/x/key")
tell(os.mkdir, "sub/.env")
tell(os.mkfifo, "sub/.env")
# Directories whose entries match at their new names: one level down and two.
for call in (os.rename, exchange):
    tell(call, "from/x", "a/y")
    tell(call, "from/x", "a/full")
    tell(call, "from", "new/a")
    tell(call, "from", "a")
    for name in ("a/y/key", "a/full/key", "a/x/key", "from/x/key"):
        tell(read, name)
# A denied name stays where it is, and what is above it can go where it stays denied.
tell(os.rename, "app/.env", "app/env")
tell(exchange, "app/.env", "env")
tell(os.link, "app/.env", "linked")
tell(os.rename, "app", "moved")
tell(exchange, "moved", "sub")
for name in ("app/.env", "moved/.env", "sub/.env", "linked", "env"):
    tell(read, name)
EOF2
for judge in all changes; do
	rm -rf "$T/w" && mkdir -p "$T/w/a/x" "$T/w/a/full" "$T/w/from/x" "$T/w/new" "$T/w/sub" "$T/w/app"
	echo SECRET >"$T/w/app/.env"
	echo open | tee "$T/w/env" "$T/w/from/x/key" >"$T/w/a/full/file"
	cg run --json --judge $judge -p "$T/p.json" -r "$T/made.py" -w "$T/w" -- "$PYTHON" "$T/made.py" >"$T/result"
	[ "$(jq -r .judge "$T/result")" = $judge ] || fail "judge is not $judge: $(jq -c '.enforcement["kernel-reads"],
		.error' "$T/result")"
	jq -r .stdout,.stderr "$T/result" >"$T/said.$judge"
	jq -c '.changes[] | [.change, .kind, .path]' "$T/result" | sort >"$T/changed.$judge"
	tree "$T/w" >"$T/tree.$judge"
done
diff "$T/said.all" "$T/said.changes" >"$T/diff" || fail "judge all (<) and changes (>): $(cat "$T/diff")"
diff "$T/changed.all" "$T/changed.changes" >"$T/diff" || fail "the changes told: $(cat "$T/diff")"
diff "$T/tree.all" "$T/tree.changes" >"$T/diff" || fail "the trees: $(cat "$T/diff")"
grep SECRET "$T/said.changes" && fail "a denied file was read"
for line in "rename env .env EACCES" "link env a/x/key EACCES" "exchange app/.env env EACCES" \
	"mkdir sub/.env EACCES" "link app/.env linked EACCES" "read env open"; do
	grep -qxF "$line" "$T/said.changes" || fail "not so: $line: $(cat "$T/said.changes")"
done

# ---- many files ----
if [ "$(id -u)" != 0 ] || ! unshare -m true 2>/dev/null; then
	echo "1,000,000 files take a tmpfs of root's: left out"
	exit "$live_failed"
fi
mkdir "$T/many"
cat >"$T/many.sh" <<'EOF2'
mount -t tmpfs -o size=4G,nr_inodes=0 none "$1/many" && mkdir "$1/many/deep" || exit 99
"$2" -c 'import os, sys
for directory in range(100):
    os.mkdir(f"{sys.argv[1]}/{directory}")
    top = os.open(f"{sys.argv[1]}/{directory}", os.O_PATH)
    for name in range(10000):
        os.mknod(str(name), 0o100644, dir_fd=top)' "$1/many" || exit 98
echo SECRET >"$1/many/deep/.env"
echo SECRET >"$1/many/99/.env"
shift 2
exec "$@"
EOF2
unshare -m bash "$T/many.sh" "$T" "$PYTHON" bash -c '
	TIMEFORMAT="%U %S"
	time timeout 100 "$@" >"$0/result" 2>"$0/err"' "$T" \
	"$CALLGATE" run --json --judge changes -p "$T/p.json" -w "$T/many" -- \
	"$PYTHON" -S -c '
for name in "none/.env", "deep/.env", "99/.env":
    try:
        print(open(name).read())
    except OSError as error:
        print(error.errno)' >"$T/out" 2>"$T/time"
read -r user system <"$T/time"
jq -e '.judge == "all" and (.enforcement["kernel-reads"].active | not) and
	(.enforcement["kernel-reads"].why | test("every call is judged: .*(too many|took too long)"))' "$T/result" \
	>/dev/null || fail "1,000,000 files: $(jq -c '[.judge, .enforcement["kernel-reads"], .error]' "$T/result")"
jq -e '.stdout == "2\n13\n13\n"' "$T/result" >/dev/null || fail "1,000,000 files: $(jq -c .stdout "$T/result")"
# CPU time, because others use the machine, too. The walk ends after 0.2 s.
awk -v used="$user $system" 'BEGIN { split(used, part); exit part[1] + part[2] < 2 ? 0 : 1 }' ||
	fail "1,000,000 files: the run took $user s and $system s of CPU time"
exit "$live_failed"
