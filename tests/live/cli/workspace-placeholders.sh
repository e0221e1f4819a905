#!/bin/bash
# --cow by copying: a file gets its content when the program first gets it in any way, and nothing else does. What is
# applied is what the program makes of the directory natively; what the directory has no more is told, and left out.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/workspace-lib.sh"
need jq "$PYTHON"
W=$T/w
WORKSPACE_COW=--cow=copy

cow() # OPTION… -- PROGRAM…: the result in $T/result, the workspace in $id
{
	cg run --cow=copy --json --profile minimal -w "$W" -r /usr -x /usr/bin "$@" >"$T/result" 2>"$T/err"
	id=$(jq -r '.workspace.id // empty' "$T/result")
}

told()
{
	jq -c '[.stdout, .stderr, .error]' "$T/result"
	cat "$T/err"
}

copy() # the copy of workspace $id
{
	echo "$TMPDIR"/callgate-*/workspaces/"$id"/0/copy
}

picture_of() # modes, sizes, times and contents of all files
{
	(cd "$1" && find . -type f -printf '%P %m %s %T@ %n ' -exec sha256sum {} \; | sort)
}

mkdir -p "$W/d/in"
for name in path link rename truncate mmap written appended chmod touch removed replaced d/one d/in/two; do
	"$PYTHON" -c 'import sys; print((sys.argv[1] + "\n") * 3000, end="")' "$name" >"$W/$name"
done
head -c 3M /dev/zero | tr '\0' x >"$W/unread"
cp "$W/unread" "$W/emptied"
printf '#!/bin/sh\necho script\n' >"$W/script"
cp /usr/bin/true "$W/program"
echo closed >"$W/closed"
ln "$W/path" "$W/path too"
chmod 755 "$W/script"
chmod 444 "$W/closed"
touch -d 2001-02-03T04:05:06.123456789 "$W"/*
cp -a "$W" "$T/native"
cat >"$T/program.py" <<'END'
import mmap, os, subprocess, threading
def read(path):
    with open(path, 'rb') as file:
        return file.read()
# A descriptor of O_PATH, by which the file is opened after it was removed.
fd = os.open('path', os.O_PATH)
assert os.fstat(fd).st_size == 15000
os.remove('path')
assert read('/proc/self/fd/%d' % fd) == b'path\n' * 3000
os.close(fd)
os.link('link', 'linked')
assert read('linked') == b'link\n' * 3000
os.rename('rename', 'renamed')
assert read('renamed') == b'rename\n' * 3000
os.truncate('truncate', 13)
assert read('truncate') == b'truncate\ntrun'
with open('mmap', 'r+b') as file:
    area = mmap.mmap(file.fileno(), 0)
    assert area[5:10] == b'mmap\n'
    area[0:4] = b'MMAP'
assert subprocess.check_output(['./script']) == b'script\n'
subprocess.check_call(['./program'])
assert read('closed') == b'closed\n'
os.chmod('closed', 0o640)
with open('written', 'r+b') as file:
    file.seek(100)
    file.write(b'new')
with open('appended', 'ab') as file:
    file.write(b'more\n')
with open('emptied', 'wb') as file:
    file.write(b'')
os.chmod('chmod', 0o600)
os.utime('touch', (1, 1))
os.remove('removed')
os.remove('replaced')
with open('replaced', 'xb') as file: # most likely with the number of one of the removed files
    file.write(b'other')
os.rename('d', 'e')
found = []
def race():
    found.append(read('e/one'))
threads = [threading.Thread(target=race) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert found == [b'd/one\n' * 3000] * 4
END
(cd "$T/native" && "$PYTHON" "$T/program.py") || die "the program fails natively"
cow -r "$PYTHON" -r "$T/program.py" -x "$W/script" -x "$W/program" -- "$PYTHON" "$T/program.py"
[ "$(jq -r .exit_code "$T/result")" = 0 ] || die "the program: $(told)"
[ "$(stat -c %b "$(copy)/unread")" = 0 ] || fail "what was not opened was copied: $(stat "$(copy)/unread")"
[ "$(stat -c %s "$(copy)/unread")" = 3145728 ] || fail "the size of what was not opened"
[ "$(stat -c %b "$(copy)/e/in/two")" = 0 ] || fail "a file in a renamed directory was copied"
before=$(picture_of "$W")
ws diff "$id" >"$T/diff" 2>"$T/err" || [ $? = 1 ] || fail "diff: $(cat "$T/err")"
grep -q "unread\|script\|program" "$T/diff" && fail "not changed: $(cat "$T/diff")"
[ "$(picture_of "$W")" = "$before" ] || fail "the directory was changed"
ws apply --allow-executed "$id" >"$T/out" 2>&1 || fail "apply: $(cat "$T/out")"
for tree in "$W" "$T/native"; do
	picture_of "$tree" |
		sed -E 's/^(mmap|written|appended|truncate|emptied|replaced) ([0-9]+ [0-9]+) [0-9.]+/\1 \2/'
done | sort | uniq -u >"$T/differs"
[ ! -s "$T/differs" ] || fail "differs from native: $(cat "$T/differs")"
discard_all

# The directory changes before the program opens a file: the content is that of then. What it has no more cannot be
# opened; of such a file no change is applied, and no removal that goes with it.
chmod 644 "$W/closed"
mkdir -p "$W/dir" "$W/links"
echo 1 | tee "$W"/{newer,kind,mode,dir/lost,dir/moved,dir/kept,links/one} >/dev/null
cp "$W/unread" "$W/gone"
cp "$W/unread" "$W/shorter"
begin_run_of() # PROGRAM [OPTION…]: as begin_run, with this program after `read x`
{
	local program=$1
	shift
	rm -f "$T/go" "$T/up"
	mkfifo "$T/go"
	"$CALLGATE" run --cow=copy -q --profile minimal -w "$W" -r /usr -x /usr/bin -i "$@" -- \
		/bin/sh -c "echo up; read x; $program" <"$T/go" >"$T/up" 2>"$T/err" &
	runner=$!
	exec 9>"$T/go"
	until [ -s "$T/up" ]; do kill -0 "$runner" 2>/dev/null || break; done
	id=$(ws list --json | jq -r 'select(.in_use).id')
}
# A limit does not end the run by what cannot be opened, or became shorter; a watch is for the other files.
cat >"$T/watch.py" <<'END'
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
assert libc.inotify_add_watch(libc.inotify_init(), b'links', 2) == 1, ctypes.get_errno()
END
begin_run_of 'cat newer gone kind shorter; chmod 700 mode; cp -p mode copied; mv dir "dir too"
	'"$PYTHON $T/watch.py"'; ln links/one two; echo 3 >new' --disk 2M -r "$PYTHON" -x "$PYTHON" -r "$T/watch.py"
echo newer >"$W/newer"
: >"$W/shorter"
rm "$W/gone" "$W/kind" "$W/dir/moved" "$W/links/one"
mkdir "$W/kind"
echo 2 >"$W/dir/lost"
echo mode >"$W/mode"
echo >&9
end_run
[ "$(cat "$T/up")" = "$(printf 'up\nnewer')" ] || fail "changed meanwhile: $(cat "$T/up" "$T/err")"
[ "$(grep -c 'Input/output error' "$T/err")" = 2 ] || fail "gone: $(cat "$T/err")"
ws diff "$id" >"$T/out" 2>"$T/err"
[ $? = 125 ] || fail "ws diff of what is lost: $(cat "$T/out" "$T/err")"
cat >"$T/expected" <<'END'
A  copied
A  dir too/
A  dir too/kept
A  new
D  dir/
D  dir/kept
D  dir/lost
M  mode  mode 0644 -> 0700
END
grep -q '^D  dir/lost  conflict: ' "$T/out" || fail "not marked: $(cat "$T/out")"
sed 's/,\?  *conflict: .*//; s/^R  dir\/kept -> dir too\/kept$/A  dir too\/kept\nD  dir\/kept/' "$T/out" | sort |
	diff - "$T/expected" >"$T/differs" || fail "ws diff: $(cat "$T/differs")"
for name in 'dir too/lost' 'dir too/moved' dir/lost dir/moved links/one two; do
	grep -q "^callgate ws diff: $name: the program has not opened" "$T/err" || fail "$name: $(cat "$T/err")"
done
ws apply --theirs "$id" >"$T/out" 2>&1
[ $? = 3 ] || fail "ws apply of what is lost: $(cat "$T/out")"
[ "$(cat "$W/dir/lost" "$W/newer" "$W/new" "$W/copied" "$W/dir too/kept")" = "$(printf '%s\n' 2 newer 3 mode 1)" ] ||
	fail "applied: $(cat "$T/out"; ls -lR "$W")"
[ "$(ls -A "$W/dir" "$W/dir too" "$W/links")" = \
	"$(printf '%s\n' "$W/dir:" lost '' "$W/dir too:" kept '' "$W/links:")" ] ||
	fail "applied without content: $(cat "$T/out"; ls -lR "$W")"
[ ! -e "$W/two" ] || fail "a link to what is lost"
discard_all
rmdir "$W/kind"

# SIGKILL of the run while files are filled: what was not changed is in no diff.
head -c 12M /dev/zero | tr '\0' y >"$W/big"
chmod 444 "$W/big"
kills=2
[ -z "${CHECK_LONG:-}" ] || kills=100
for ((kill = 0; kill < kills; kill++)); do
	begin_run_of 'echo go; cat big unread; echo; sleep 100'
	echo >&9
	until [ "$(head -c 6 "$T/up" | tail -n 1)" = go ]; do kill -0 "$runner" || break; done
	sleep "0.00$((RANDOM % 10))"
	kill -KILL "$runner"
	wait "$runner" 2>/dev/null
	exec 9>&-
	while [ -n "$(ws list --json | jq -r 'select(.in_use).id')" ]; do sleep 0.01; done
	[ -z "$(ws diff "$id" 2>&1)" ] || fail "killed: $(ws diff "$id" 2>&1)"
	discard_all
done
chmod 644 "$W/big"
rm "$W/big"

# limits.disk counts what is filled, and not what is not.
cow --disk 2M -- /bin/sh -c 'cat closed'
[ "$(jq -r .stdout "$T/result")" = closed ] || fail "limits.disk: $(told)"
cow --disk 2M -- /bin/sh -c 'cat closed; cat unread'
[ "$(jq -c '[.stdout, .status, .limits.disk.hit, .denials[-1].errno]' "$T/result")" = \
	'["closed\n","limit",true,"EDQUOT"]' ] || fail "limits.disk: $(told)"
discard_all

# What is emptied needs no content.
cow --disk 2M -- /bin/sh -c 'echo new >unread; truncate -s 0 mmap; cat unread mmap'
[ "$(jq -c '[.stdout, .status, .exit_code]' "$T/result")" = '["new\n","ok",0]' ] || fail "emptied: $(told)"
[ "$(ws diff "$id" 2>&1)" = "$(printf 'M  %s  content, time\n' mmap unread)" ] || fail "emptied: $(ws diff "$id" 2>&1)"
discard_all

# A directory that is away for a moment: what was moved in the workspace is not lost.
mkdir "$W/moved"
echo content >"$W/moved/file"
cow -- /usr/bin/mv moved elsewhere
mv "$W" "$W.away"
ws diff "$id" >"$T/out" 2>&1 && fail "away: $(cat "$T/out")"
mv "$W.away" "$W"
ws diff "$id" >"$T/out" 2>&1
grep -q '^R  moved/file -> elsewhere/file$' "$T/out" || fail "back again: $(cat "$T/out")"

# So it is if another directory was there, as of a file system that was not mounted, or if a part of it was away, and if
# some of the workspace was applied before that was back.
for what in all part applied killed; do
	rm -rf "$W/elsewhere" "$W/new" "$T/away"
	mkdir -p "$W/moved"
	echo content >"$W/moved/file"
	ln -f "$W/moved/file" "$W/moved/again"
	later
	cow -- /bin/sh -c 'mv moved elsewhere; echo new >new'
	if [ "$what" = all ]; then
		mv "$W" "$T/away" && mkdir "$W"
	else
		mv "$W/moved" "$T/away"
	fi
	ws diff "$id" >"$T/out" 2>&1
	grep -q 'elsewhere/file: the program has not opened the file' "$T/out" || fail "$what: $(cat "$T/out")"
	[ "$what" != applied ] || applies 3 "$what"
	# While nothing is back, the layer stays, and several may read it.
	before=$(stat -c %i "$(copy)/../upper")
	flock -s "$(copy)/../.." "$CALLGATE" ws diff "$id" >"$T/again" 2>&1
	grep -q 'elsewhere/file: the program has not opened the file' "$T/again" || fail "$what: $(cat "$T/again")"
	[ "$(stat -c %i "$(copy)/../upper")" = "$before" ] || fail "$what: the layer was made again"
	if [ "$what" = all ]; then
		rmdir "$W" && mv "$T/away" "$W"
	else
		mv "$T/away" "$W/moved"
	fi
	if [ "$what" = killed ] && strace -o /dev/null true 2>/dev/null; then
		for call in unlinkat renameat2 linkat; do
			strace -f -qq -o /dev/null -e "trace=$call" -e "inject=$call:signal=KILL:when=1" \
				"$CALLGATE" ws diff "$id"
		done >/dev/null 2>&1
	fi
	ws diff "$id" >"$T/out" 2>&1
	[ $? = 1 ] || fail "$what, back: $(cat "$T/out")"
	[ ! -e "$(copy)" ] || fail "$what: the copy is there: $(ls "$(copy)/..")"
	applies 0 "$what" --theirs
	[ "$(cat "$W/elsewhere/file" "$W/elsewhere/again" "$W/new")" = "$(printf '%s\n' content content new)" ] ||
		fail "$what: not applied: $(cat "$T/out" "$T/said"; ls -lR "$W/elsewhere")"
	[ "$W/elsewhere/file" -ef "$W/elsewhere/again" ] || fail "$what: two files"
	[ ! -e "$W/moved" ] || fail "$what: still there: $(ls "$W/moved")"
	ws discard "$id" || fail "$what: discard"
done
mkdir "$W/moved"
echo content >"$W/moved/file"

# The workspace is moved to another file system meanwhile: it has what it had.
rm -r "$W/elsewhere" "$W/new"
later
cow -- /bin/sh -c 'mv moved elsewhere; echo new >new'
mv "$W/moved" "$T/away"
ws diff "$id" >"$T/out" 2>&1
kept=$(dirname "$(dirname "$(copy)")")
mv "$kept" "$T/kept" && cp -a "$T/kept" "$kept"
applies 3 "moved"
has moved new new
[ ! -e "$W/elsewhere/file" ] || fail "moved: applied: $(cat "$T/out" "$T/said")"
mv "$T/away" "$W/moved"
applies 3 "moved, back"
[ "$(cat "$W/moved/file")" = content ] || fail "moved, back: $(cat "$T/out" "$T/said"; ls -lR "$W")"
ws discard "$id" || fail "moved: discard"
rm -r "$W/new" "$W/elsewhere" "$T/kept"
rm "$T/before"

# A copy of the workspace, whose files have other inode numbers: none of them counts as content.
cow -- /usr/bin/mv moved elsewhere
kept=$(dirname "$(dirname "$(copy)")")
mv "$kept" "$T/kept" && cp -a "$T/kept" "$kept"
ws diff "$id" >"$T/out" 2>&1 && fail "copied: $(cat "$T/out")"
ws apply "$id" >"$T/out" 2>&1
[ "$(cat "$W/moved/file")" = content ] || fail "copied: $(cat "$T/out")"
grep -q cannot "$T/out" || fail "copied: $(cat "$T/out")"
rm -r "$W/moved"
discard_all

# A crash of the machine has lost which files have their content. What the program has written is applied; a file that
# may have lost its blocks is told, and stays in the workspace; without the list of placeholders, nothing is.
cow -- /bin/sh -c 'echo more >>appended; echo more >>written; cat closed'
rm "$(copy)/../fills"
truncate -s 0 "$(copy)/written" && truncate -s 15000 "$(copy)/written"
kept=$(copy)/written
ws diff "$id" >"$T/out" 2>"$T/err"
[ $? = 125 ] || fail "crashed: $(cat "$T/out" "$T/err")"
[ "$(cat "$T/out")" = 'M  appended  content, time' ] || fail "crashed: $(cat "$T/out")"
grep -q '^callgate ws diff: written: .*a crash of the machine' "$T/err" || fail "crashed: $(cat "$T/err")"
cp -a "$W" "$T/before"
ws apply "$id" >"$T/out" 2>&1
[ $? = 3 ] || fail "crashed: $(cat "$T/out")"
[ "$(tail -n 1 "$W/appended")" = more ] || fail "what was synced is lost: $(cat "$T/out")"
cmp "$W/written" "$T/before/written" || fail "zeros were applied"
[ -f "$kept" ] || fail "what is in doubt was removed"
discard_all
mkdir "$W/moved"
echo content >"$W/moved/file"
cow -- /usr/bin/mv moved elsewhere
rm "$(copy)/../unfilled"
ws apply "$id" >"$T/out" 2>&1 && fail "without the list: $(cat "$T/out")"
[ "$(cat "$W/moved/file")" = content ] || fail "without the list: $(cat "$T/out")"
rm -r "$W/moved"
discard_all

# A full disk: the file stays what it was, and can be opened when there is room.
if [ "$(id -u)" = 0 ] && mkdir "$T/small" && mount -t tmpfs -o size=4M small "$T/small" 2>/dev/null; then
	trap 'unmounted "$T/small"; live_done' EXIT
	touch -d 2001-02-03 "$W/unread"
	TMPDIR=$T/small cow --disk none -- /bin/sh -c 'head -c 2M /dev/zero >fills; cat unread || cat closed
		stat -c %s:%y:%b unread; rm fills; sha256sum <unread'
	[ "$(jq -r .stdout "$T/result")" = "$(printf 'closed\n%s\n%s' "$(stat -c %s:%y:%b "$W/unread")" \
		"$(sha256sum <"$W/unread")")" ] || fail "full: $(told)"
	grep -q 'No space left' "$T/result" ||
		fail "full: $(told)"
	[ -z "$(TMPDIR=$T/small ws diff "$id" 2>&1)" ] || fail "full: $(TMPDIR=$T/small ws diff "$id" 2>&1)"
	unmounted "$T/small"
	trap live_done EXIT
fi
exit $live_failed
