#!/bin/bash
# What a rule denies tells nothing but that: neither which names are below it, nor of what kind they are, whatever the path
# goes on with; and the way there, be it a link of the program's own, is on record as denied.
. "$(dirname "$0")/lib.sh"
need jq
[ -x "$PYTHON" ] || skip "no $PYTHON"
mkdir -p "$T/w/hidden/dir/below" "$T/w/.secret/dir" "$T/g/dir" "$T/g/dir.txt"
echo key >"$T/w/hidden/key"
echo key >"$T/w/.secret/key"
echo no >"$T/g/file"
ln -s hidden/key "$T/w/link"
jq -n --arg t "$T" '{version: 1, name: "t", extends: ["python"], filesystem: {read: ["\($t)/g/*.txt"], write: ["\($t)/w"],
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
cg run -p "$T/p.json" -w "$T/w" --audit "$T/audit" -- "$PYTHON" -B "$T/w/ask.py" "$T" >"$T/out" 2>&1 || fail "it ended with $?"
[ -s "$T/out" ] && fail "it can tell names apart: $(head -n 20 "$T/out")"

# Through a link, and on from there: denied, and said so.
for path in link link/ link/. link/x link/.. link/../dir; do
	rm -f "$T/audit"
	cg run --json -p "$T/p.json" -w "$T/w" --audit "$T/audit" -- "$PYTHON" -B -c '
import os, sys
try:
    os.stat(sys.argv[1])
except PermissionError:
    sys.exit(3)' $path >"$T/result"
	[ "$(jq .exit_code "$T/result")" = 3 ] || fail "$path is not denied: $(jq -c "[.exit_code, .stderr, .error]" "$T/result")"
	jq -se --arg path $path '[.[] | select(.path == $path)] | length == 1 and .[0].verdict == "deny" and
		(.[0].rule | test("filesystem.deny"))' "$T/audit" >"$T/tmp/said" || fail "$path: $(grep '"link' "$T/audit")"
	jq -e '[.denials[] | select(.rule // "" | test("filesystem.deny"))] | length == 1' "$T/result" >"$T/tmp/said" ||
		fail "$path is not among the denials: $(jq -c .denials "$T/result")"
done
rm -f "$T/tmp/said"
exit $live_failed
