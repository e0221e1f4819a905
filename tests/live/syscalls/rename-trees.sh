#!/bin/bash
# Renaming a directory does not walk the tree below it where no rule distinguishes names in it. However large, deep or
# unreadable the tree is, it is moved as natively and no inotify watch sees an access. The changes in the result are
# complete all the same.
. "$(dirname "$0")/../lib.sh"
need jq git tar
[ -x "$PYTHON" ] || skip "no $PYTHON"
mkdir -p "$T/w"
policy()
{
	jq -n --argjson deny "$1" '{version: 1, name: "t", extends: ["extended"], filesystem: {deny: $deny}}' \
		>"$T/p.json"
}

cat >"$T/w/rename.py" <<'EOF2'
import ctypes, errno, os, struct, sys, time
OPEN, ACCESS, CLOSE, MOVED = 0x20, 0x1, 0x10, 0xc0
libc = ctypes.CDLL(None, use_errno=True)

# Watches what it can: in a container without pidfd_getfd there is no inotify.
for attempt in range(200): # others of this user may have all instances that there are
    watch = libc.inotify_init1(os.O_NONBLOCK)
    if watch >= 0 or "OUTER_FILTER" in os.environ:
        break
    time.sleep(0.1)
def add(path):
    failed = libc.inotify_add_watch(watch, path.encode(), OPEN | ACCESS | CLOSE | MOVED) < 0
    if failed and "OUTER_FILTER" not in os.environ:
        raise OSError(ctypes.get_errno(), path)

def seen():
    if watch < 0 and "OUTER_FILTER" in os.environ:
        return []
    try:
        data, masks = os.read(watch, 1 << 20), []
    except BlockingIOError:
        return []
    while data:
        _, mask, _, length = struct.unpack_from("iIII", data)
        masks.append(mask)
        data = data[16 + length:]
    return masks

def move(what, old, new):
    seen()
    try:
        os.rename(old, new)
    except OSError as error:
        print(what, errno.errorcode[error.errno])
        return
    for mask in seen():
        if mask & (OPEN | ACCESS | CLOSE):
            print(what, "was looked at:", hex(mask))

for number in range(20):
    os.makedirs(f"wide/{number}")
    add(f"wide/{number}")
    for name in range(30):
        os.close(os.open(f"wide/{number}/{name}", os.O_CREAT | os.O_WRONLY))
add("wide")
add(".")
move("wide", "wide", "broad")
move("wide again", "broad/3", "broad/three")

top = os.open(".", os.O_RDONLY)
os.mkdir("deep")
os.chdir("deep")
for level in range(300):
    os.mkdir("d")
    os.chdir("d")
os.fchdir(top)
move("deep", "deep", "deeper")

os.makedirs("shut/in/below")
os.chmod("shut/in", 0)
add("shut")
move("shut", "shut", "closed")
os.chmod("closed/in", 0o700)

move("a tree from outside", "given", "taken")
with open("taken/sub/changed", "a") as file:
    file.write("more")
os.unlink("taken/sub/gone")
os.mkdir("given")
with open("given/fresh", "w") as file:
    file.write("new")
os.mkdir("next")
os.rename("next", "given.new")
move("a swap", "given", "given.old")
move("a swap", "given.new", "given")
EOF2

# Where the rules tell nothing apart, and where they do so elsewhere.
for deny in '[]' '["**/.env", "@workdir/.git/hooks", "@workdir/other/**/*.pem", "**/.hg/store",
	"@workdir/*/private"]'; do
	policy "$deny"
	(cd "$T/w" && mkdir -p given/sub given/keep && echo a >given/sub/changed && echo b >given/sub/gone &&
		echo c >given/keep/kept) || die "setup"
	cg run --json -p "$T/p.json" -w "$T/w" -- "$PYTHON" -B "$T/w/rename.py" >"$T/result"
	[ "$(jq -r '[.exit_code, .stdout, .stderr] | join("|")' "$T/result")" = '0||' ] ||
		fail "with $deny: $(jq -c '[.exit_code, .stdout, .stderr, .error]' "$T/result")"
	jq -r '.changes[] | "\(.kind // .change) \(.path)"' "$T/result" | sed "s,$T/w/,," |
	grep -v -e ' broad' -e ' deeper/' >"$T/changes"
	cat >"$T/expected" <<-'EOF2'
		added closed
		added closed/in
		added closed/in/below
		added deeper
		added given.old
		added given.old/fresh
		added taken
		added taken/keep
		added taken/keep/kept
		added taken/sub
		added taken/sub/changed
		deleted given/keep
		deleted given/keep/kept
		deleted given/sub
		deleted given/sub/changed
		deleted given/sub/gone
		modified given
	EOF2
	diff <(sort "$T/expected") <(sort "$T/changes") >"$T/diff" || fail "with $deny: changes: $(cat "$T/diff")"
	[ "$(jq '[.changes[] | select(.path |
		test("/broad"))] | length' "$T/result")" = 621 ] || fail "not all of the wide tree is told"
	rm -rf "${T:?}/w"/{broad,deeper,closed,taken,given,given.old}
done

# Where globs tell names apart the tree is listed: what cannot be read then does not move, and it is on record why.
policy '["@workdir/src/**/*.pem"]'
mkdir -p "$T/w/src" "$T/w/m/n" && : >"$T/w/m/n/key.pem" && mkdir -p "$T/w/clean/n"
cg run --json -p "$T/p.json" -w "$T/w" --audit "$T/audit" -- "$PYTHON" -c '
import errno, os
os.rename("clean", "src/clean")
try:
    os.rename("m", "src/m")
except OSError as error:
    print(errno.errorcode[error.errno])' >"$T/result"
[ "$(jq -r .stdout "$T/result")" = EXDEV ] || fail "a .pem into src: $(jq -c '[.exit_code, .stdout,
	.stderr]' "$T/result")"
jq -se 'any(.[]; .syscall == "rename" and .reason == "rights_differ_below" and (.rule | test("[*].pem")))' "$T/audit" \
	>/dev/null ||
	fail "no record: $(grep '"rename"' "$T/audit")"

# Programs that move trees, with rules that deny names anywhere and hooks.
rm -rf "$T/w" && mkdir -p "$T/w/home" && git -c init.defaultBranch=main init -q "$T/w/repo" &&
	cp -r "$T/w/repo/.git/hooks" "$T/hooks"
policy '["**/.env", "@workdir/repo/.git/hooks"]'
cat >"$T/w/work.sh" <<'EOF2'
set -e
export HOME=$PWD/home GIT_CONFIG_GLOBAL=/dev/null
cd repo
git config user.name t
git config user.email t@example.invalid
echo one >file && git add file && git commit -qm one
git branch -m main trunk && git branch -c trunk other
echo two >file && git stash -q && git stash pop -q && git commit -qam two
git worktree add -q ../tree other && git worktree move ../tree ../moved && git worktree remove ../moved
git gc -q --prune=now && git fsck --strict
mkdir dir && echo x >dir/x && git add dir && git mv dir renamed && git commit -qm renamed
cd ..
tar cf t.tar -C repo renamed file && mkdir out && tar xf t.tar -C out
mv out out.old && mkdir out.new && mv out.old/renamed out.new/ && mv out.new out
ln -s out current && ln -s out.old next && mv -T next current && [ "$(readlink current)" = out.old ]
ln out/renamed/x x.dpkg-new && mv x.dpkg-new x && [ -s x ]
EOF2
cg run --json -p "$T/p.json" -w "$T/w" -- /bin/sh "$T/w/work.sh" >"$T/result"
[ "$(jq .exit_code "$T/result")" = 0 ] || fail "git, tar, mv: $(jq -c '[.exit_code, .stdout, .stderr,
	.denials]' "$T/result")"
diff -r "$T/hooks" "$T/w/repo/.git/hooks" >"$T/diff" || fail "the hooks changed: $(cat "$T/diff")"

# What goes to scratch space ends with the run: no directory goes there that may hold a denied name, by rename or in
# exchange.
rm -rf "$T/w" "$T/audit" && mkdir -p "$T/w/project" && echo held >"$T/w/project/.env"
policy '["**/.env"]'
cg run --json -p "$T/p.json" -w "$T/w" --audit "$T/audit" -- "$PYTHON" -c '
import ctypes, errno, os
libc = ctypes.CDLL(None, use_errno=True)
os.mkdir("/var/tmp/empty")
def move(old, new, flags):
    print(errno.errorcode[ctypes.get_errno()] if libc.renameat2(-100, old, -100, new, flags) < 0 else "moved")
move(b"project", b"/var/tmp/project", 0)
move(b"project", b"/var/tmp/empty", 0)
move(b"project", b"/var/tmp/empty", 2)
move(b"/var/tmp/empty", b"project", 2)
move(b"project", b"/tmp/project", 0)' >"$T/result"
[ "$(jq -r '.stdout | rtrimstr("\n")' "$T/result" | sort -u)" = EXDEV ] ||
	fail "to scratch space: $(jq -c '[.exit_code, .stdout, .stderr]' "$T/result")"
[ "$(cat "$T/w/project/.env")" = held ] || fail "a denied file ended with the run"
audit_has '.syscall == "renameat2" and .reason == "ends_with_run"'

# To list what was moved has an end, whatever was done so that it takes long: many moves, and names that differ at their
# ends only.
rm -rf "$T/w" && mkdir -p "$T/w/wide" && policy '[]'
"$PYTHON" -c 'for number in range(40000): open("'"$T"'/w/wide/%d" % number, "w").close()' || die "setup"
cg run --json -p "$T/p.json" -w "$T/w" -- "$PYTHON" -c '
import os, time
deep, longest = "/".join(["p" * 250] * 8), 0
os.makedirs(deep)
os.rename("wide", deep + "/wide")
os.chdir(deep)
for number in range(1030):
    begin = time.monotonic()
    os.mkdir("d%d" % number)
    os.rename("d%d" % number, "e%d" % number)
    longest = max(longest, time.monotonic() - begin)
print(int(longest))' >"$T/result"
jq -e '.exit_code == 0 and (.stdout | rtrimstr("\n") | tonumber) < 8 and .changes_unlisted > 0' \
	"$T/result" >"$T/said" ||
	fail "a rename that lists what was moved: $(jq -c '[.exit_code, .stdout, .stderr,
	.changes_unlisted]' "$T/result")"
exit $live_failed
