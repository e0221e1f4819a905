#!/bin/bash
# A denied path reveals only that it is denied: not which names exist below it, nor their types, whatever the path
# continues with. The walk to it is recorded as denied, even through a symbolic link that the program made.
. "$(dirname "$0")/../lib.sh"
need jq
[ -x "$PYTHON" ] || skip "no $PYTHON"
mkdir -p "$T/w/hidden/dir/below" "$T/w/.secret/dir" "$T/g/dir" "$T/g/dir.txt"
echo key >"$T/w/hidden/key"
echo key >"$T/w/.secret/key"
echo no >"$T/g/file"
ln -s hidden/key "$T/w/link"
jq -n --arg t "$T" '{version: 1, name: "t", extends: ["python"], filesystem: {read: ["\($t)/g/*.txt"],
	write: ["\($t)/w"],
	deny: ["\($t)/w/hidden", "**/.secret"]}}' >"$T/p.json"
cat >"$T/w/ask.py" <<'EOF2'
import errno, os, sys
top = sys.argv[1]
calls = [os.stat, os.lstat, os.readlink, os.listdir, os.truncate, os.chdir, lambda p: os.close(os.open(p, os.O_RDONLY)),
    lambda p: os.close(os.open(p, os.O_WRONLY | os.O_CREAT)), lambda p: os.rename(p, top + "/w/new"), os.statvfs,
    lambda p: os.stat(p, follow_symlinks=False), lambda p: os.chmod(p, 0o644)]
tails = ["", "/", "/.", "/..", "/../..", "/x", "/x/..", "//x/../../../ask.py", "/../../ask.py", "/" + 300 * "n"]

def ask(call, path):
    try:
        call(path, *[5] if call is os.truncate else [])
    except OSError as error:
        return errno.errorcode[error.errno]
    return "done"

# Three names of one length, so that only what is there differs.
denied = ("key", "dir", "non")
for where, names in (("/w/hidden/", denied), ("/w/.secret/", denied), ("/g/", ("file", "dir", "none"))):
    for number, call in enumerate(calls):
        for tail in tails:
            if where == "/g/" and tail == "" and number in (7, 8): # may not be made, and that is told either way
                continue
            said = {name: ask(call, top + where + name + tail) for name in names}
            if len(set(said.values())) != 1:
                print(number, where, tail[:20], said)
EOF2
cg run -p "$T/p.json" -w "$T/w" --audit "$T/audit" -- "$PYTHON" -B "$T/w/ask.py" "$T" >"$T/out" 2>&1 ||
	fail "it ended with $?"
[ -s "$T/out" ] && fail "it can tell names apart: $(head -n 20 "$T/out")"

# Where only globs grant, nothing tells of the other names: no watch, however the directory is named, and no call on a
# descriptor of it.
cat >"$T/w/watch.py" <<'EOF2'
import ctypes, errno, os, select, subprocess, sys
libc = ctypes.CDLL(None, use_errno=True)
top, ready = sys.argv[1], sys.argv[2]
inotify = libc.inotify_init1(os.O_NONBLOCK)
IN_ALL = 0xfff

def watch(path, mask=IN_ALL):
    r = libc.inotify_add_watch(inotify, os.fsencode(path), mask)
    return r if r >= 0 else errno.errorcode[ctypes.get_errno()]

glob = top + "/g"
held = os.open(glob, os.O_PATH)
listed = os.open(glob, os.O_RDONLY)
os.symlink(glob, top + "/w/way")
os.chdir(glob)
for path in (glob, glob + "/", glob + "/.", ".", "dir.txt/..", top + "/w/way", top + "/w/way/", "/proc/self/cwd",
        f"/proc/self/fd/{held}", f"/proc/self/fd/{listed}", f"/dev/fd/{held}/.", f"/proc/thread-self/fd/{held}"):
    for mask in (IN_ALL, IN_ALL | 0x01000000, 0x100):
        said = watch(path, mask)
        if said != "EACCES":
            print("watch", path, hex(mask), said)
# What may be watched: a file that a glob grants, and a directory that is granted, the denied
# entries of which it lists as well.
file = watch(glob + "/seen.txt")
granted = watch(top + "/w/sub")
if not isinstance(file, int) or not isinstance(granted, int):
    print("not watched:", file, granted)
# Neither entries nor their number come out of any descriptor of it.
for name in ("listdir", "listxattr", "statvfs", "stat"):
    for fd in (held, listed):
        try:
            said = str(getattr(os, name)(fd))
        except OSError as error:
            said = errno.errorcode[error.errno]
        if "'file'" in said or "appeared" in said:
            print(name, said)
open(ready, "w").close()
while not os.path.exists(ready + ".go"):
    select.select([], [], [], 0.02)
events = b""
while True:
    try:
        events += os.read(inotify, 65536)
    except BlockingIOError:
        break
if b"appeared" in events or b"/g" in events:
    print("told of", events)
if b"made-in-sub" not in events:
    print("the granted directory told nothing")
print("listed:", sorted(os.listdir(glob)), "appeared" in os.listdir(listed))
EOF2
for without in none mountns namespaces; do
	rm -rf "$T/audit" "$T/w/ready" "$T/w/ready.go" "$T/w/way" "$T/w/sub" "$T/g/appeared"
	mkdir "$T/w/sub"
	echo seen >"$T/g/seen.txt"
	options=()
	[ $without = none ] || options=(--without "$without")
	(awaited test -e "$T/w/ready"
	for name in appeared appeared.too; do
		echo x >"$T/g/$name" && mv "$T/g/$name" "$T/g/$name.moved" && rm "$T/g/$name.moved"
	done
	touch "$T/g/appeared" "$T/w/sub/made-in-sub" "$T/w/ready.go") &
	cg run -p "$T/p.json" -w "$T/w" --audit "$T/audit" "${options[@]}" \
		-- "$PYTHON" -B "$T/w/watch.py" "$T" "$T/w/ready" >"$T/out" 2>&1 ||
		fail "$without: watching ended with $?"
	wait
	grep -vFx "listed: ['dir.txt', 'seen.txt'] False" "$T/out" && fail "$without: a watch tells names, see above"
	audit_has '.syscall == "inotify_add_watch" and .verdict == "deny" and .errno == "EACCES" and
		.reason == "names_not_granted"'
	audit_none '.syscall == "inotify_add_watch" and .verdict == "allow" and (.resolved // .path | endswith("/g"))'
done

# Through a link, and on from there: denied, and said so.
for path in link link/ link/. link/x link/.. link/../dir; do
	rm -f "$T/audit"
	cg run --json -p "$T/p.json" -w "$T/w" --audit "$T/audit" -- "$PYTHON" -B -c '
import os, sys
try:
    os.stat(sys.argv[1])
except PermissionError:
    sys.exit(3)' $path >"$T/result"
	[ "$(jq .exit_code "$T/result")" = 3 ] || fail "$path is not denied: $(jq -c "[.exit_code, .stderr,
		.error]" "$T/result")"
	jq -se --arg path $path '[.[] | select(.path == $path)] | length == 1 and .[0].verdict == "deny" and
		(.[0].rule | test("filesystem.deny"))' "$T/audit" >"$T/tmp/said" ||
			fail "$path: $(grep '"link' "$T/audit")"
	jq -e '[.denials[] | select(.rule // "" | test("filesystem.deny"))] | length == 1' "$T/result" >"$T/tmp/said" ||
		fail "$path is not among the denials: $(jq -c .denials "$T/result")"
done
rm -f "$T/tmp/said"
exit $live_failed
