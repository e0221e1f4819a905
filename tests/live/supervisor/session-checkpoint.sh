#!/bin/bash
# session checkpoint, restore: the workspace of a session becomes what it was, whatever programs did to it meanwhile;
# what has not changed is not copied twice; programs that live go on; what is killed leaves a workspace that another
# restore mends; the directory of -w stays byte-identical, times included.
# CHECK_LONG=1: more random programs, and 60 kills instead of 1, 50 checkpoints in a row.
# shellcheck disable=SC2016 # the inner shell expands what is in single quotes
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../cli/workspace-lib.sh"
need jq git "$PYTHON"
W=$T/w
PLAYS=${WORKSPACE_SEEDS:-2} STEPS=60 KILLS=${WORKSPACE_KILLS:-1} MANY=8 RACES=1 brief=
# In another test, with copies: without what is the same both ways.
[ -z "${WORKSPACE_BRIEF:-}" ] || brief=y MANY=0 PLAYS=1
[ -z "${CHECK_LONG:-}" ] || PLAYS=40 STEPS=200 KILLS=60 MANY=50 RACES=60 brief=

session()
{
	timeout -k 5 "$LIVE_TIMEOUT" "$CALLGATE" session "$@"
}

create() # sets $id
{
	id=$(session create "${WORKSPACE_COW:---cow}" --profile minimal -w "$W" -r "$T/program.py" -r /usr -r /etc \
		-x /usr/bin -e GIT_CONFIG_NOSYSTEM=1 -x /usr/lib/git-core -e HOME=/nonesuch -- /bin/sh 2>"$T/err")
}

inside() # COMMAND: in the session
{
	session exec "$id" -- /bin/sh -c "$1"
}

checkpoint() # [NAME]: makes it, and takes a picture of what the programs see
{
	session checkpoint --json "$id" "$@" >"$T/work" || fail "checkpoint $*"
	made=$(jq -r .checkpoint "$T/work")
	inside "$seen" >"$T/seen.$made"
}

restore() # NAME: and compares the pictures
{
	session restore --json "$id" "$1" >"$T/work" || fail "restore $1"
	inside "$seen" >"$T/now"
	cmp -s "$T/now" "$T/seen.$1" || fail "restored $1: $(diff "$T/seen.$1" "$T/now" | head -n 12)"
}

holds() # WHAT FILTER: of the last checkpoint or restore
{
	jq -e "$2" "$T/work" >/dev/null || fail "$1: $(jq -c . "$T/work")"
}

stays() # WHEN: the directory of -w
{
	picture "$W" | cmp -s - "$T/before" || fail "$1: changed: $(picture "$W" | diff - "$T/before")"
}

# Sizes of directories depend on the file system, and number of links on its kind. git sets the times of objects that it
# would write again: these are kept once.
seen='find . -type d -printf "%y %m %T@ %P\n" -o -path "*/objects/*" -printf "%y %m %s %n %P\n" -o \
		-printf "%y %m %s %n %T@ %l %P\n" | sort
	find . -type f -perm -400 -exec sha256sum {} + | sort'

mkdir -p "$W/a/b/c" "$W/empty"
echo one >"$W/one"
echo two >"$W/a/two"
echo three >"$W/a/b/three"
echo odd >"$W/$(printf 'odd\n\033\377')"
ln -s ../one "$W/a/link"
truncate -s 1M "$W/a/sparse"
for ((i = 1; i <= 40; i++)); do echo "$i" >"$W/f$i"; done
git -C "$W" init -q
git -C "$W" config user.name n
git -C "$W" config user.email a@b.test
git -C "$W" add -A && git -C "$W" commit -qm base
cp "$SRC/tests/live/cli/workspace-program.py" "$T/program.py" || die "no program"
picture "$W" >/dev/null
picture "$W" >"$T/before"
create || die "no session: $(cat "$T/err")"

# ---- what was done, and undone ----
checkpoint clean
holds "nothing was written" '.copied_files == 0'
inside 'for i in $(seq 20); do echo more >>f$i; done; rm -r a; mkdir a; echo n >a/n; echo x >own
	ln own one2; mkfifo p; ln -s p l; chmod 700 empty; truncate -s 20M big
	mkdir -p new/deep; echo d >new/deep/d; chmod 400 new/deep/d'
checkpoint
[ "$made" = 1 ] || fail "named $made"
inside 'rm -r new one f1 f2 p l; echo other >l; mkdir p; echo x >p/x; git checkout -q a; echo bad >a/b/three; rm one2
	touch one2; mv empty full; echo bad >>f3; chmod 440 f4'
checkpoint third
restore 1
restore clean
restore third
restore 1
stays "after restores"
told=$(session checkpoint --list "$id")
[ "$(wc -l <<<"$told")" = 3 ] || fail "list: $told"
grep -q '^1  .*(made or restored last)$' <<<"$told" || fail "the latest: $told"
"$CALLGATE" ws diff --checkpoint clean "$id" || fail "diff of the first one"
"$CALLGATE" ws diff --checkpoint third "$id" >"$T/diff"
grep -qx 'D  f1' "$T/diff" || fail "diff of the third one: $(cat "$T/diff")"
restore clean
[ -z "$(inside 'git status --short; git fsck')" ] || fail "git: $(inside 'git status; git fsck')"

# ---- a directory that the program has closed is named, also if it is the one of -w ----
inside 'mkdir -p far/away; echo x >far/away/x; chmod 0 far/away'
if session checkpoint "$id" closed >"$T/said" 2>&1; then
	session checkpoint --remove "$id" closed || fail "remove"
else
	grep -q ": far/away: Permission denied$" "$T/said" || fail "closed: $(cat "$T/said")"
fi
restore clean
open=$id
create || die "no session: $(cat "$T/err")"
inside 'chmod 0 .'
for verb in "checkpoint $id closed" "restore $id clean"; do
	# shellcheck disable=SC2086 # words
	session $verb >"$T/said" 2>&1 && fail "closed: $verb: $(cat "$T/said")"
	grep -qF ": $W cannot be opened: Permission denied" "$T/said" || fail "closed, $verb: $(cat "$T/said")"
done
session stop "$id" >/dev/null || fail "stop of a closed one"
"$CALLGATE" ws discard "$id" || fail "discard of a closed one"
id=$open

# ---- what a restore that was killed had made: no checkpoint, restore or link(2) later leaves it ----
temporary=.callgate-restore-0123456789abcdef
layer=$(echo "$TMPDIR"/callgate-*/workspaces/"$id"/0)
for later in "checkpoint $id cleaned" "restore $id clean" "exec $id -- /usr/bin/ln f35 linked"; do
	inside "mkdir -p $temporary"
	printf %s $temporary >"$layer/temporary"
	# shellcheck disable=SC2086 # words
	session $later >/dev/null || fail "$later"
	[[ $later != exec* ]] || [ -e "$layer/upper" ] || continue # a copy: link(2) makes no entry with another name
	[ ! -e "$layer/temporary" ] || fail "$later: the note stays"
	inside "[ ! -e $temporary ]" || fail "$later: what was noted stays"
done
"$CALLGATE" ws diff --checkpoint cleaned "$id" | grep callgate-restore && fail "in a checkpoint"
restore clean

# ---- attributes that a program names as the overlay names its own ----
attributes()
{
	inside "$PYTHON -c 'import os
print({p: sorted(os.listxattr(p)) for p in (\"a\", \"one\")})'"
}
had=$(attributes)
inside "$PYTHON -c 'import os
for path in \"a\", \"one\":
    for name in \"opaque\", \"overlay.x\":
        try: os.setxattr(path, \"user.overlay.\" + name, b\"y\")
        except OSError: pass'" # an old kernel lets no program set them
named=$(attributes)
checkpoint named
restore clean
[ "$(attributes)" = "$had" ] || fail "restored: $(attributes), not $had"
restore named
[ "$(attributes)" = "$named" ] || fail "restored: $(attributes), not $named"
restore clean

# ---- git: its objects are copied once ----
git_objects()
{
	inside 'for i in $(seq 40); do echo change >>f$i; done; git commit -qam one' || fail "commit"
	checkpoint commit
	inside 'echo two >>f1; git commit -qam two' || fail "commit two"
	checkpoint two
	holds "git's objects were copied again" '.copied_files < 12 and .kept_files > 75'
	inside 'for i in $(seq 20); do echo bad >f$i; done; git commit -qam bad; rm -rf .git/objects/??; rm f2*'
	checkpoint bad
	restore commit
	[ "$(inside 'git fsck --no-dangling; git status --short; git log --oneline | wc -l')" = 2 ] ||
		fail "git: $(inside 'git fsck; git status --short; git log --oneline')"
	inside 'mkdir -p l/i/n/k; set -- .git/objects/[0-9a-f][0-9a-f]/*; ln "$1" l/i/n/k/ed'
	checkpoint linked # an object with another name, which is looked at later
	restore commit
	restore linked
	restore commit
	checkpoint after
	checkpoint again
	holds "nothing has changed" '.copied_files == 0 and .kept_files > 40'
	all=$TMPDIR/callgate-$(id -u)/workspaces/$id/checkpoints
	of_commit=$(du -s --apparent-size -B1 "$all/commit" | cut -f1)
	both=$(du -sc --apparent-size -B1 "$all/after" "$all/again" | tail -n 1 | cut -f1)
	((both < of_commit * 3 / 2 + 100000)) || fail "two equal checkpoints have $both bytes, the first one $of_commit"
}
[ -n "$brief" ] || git_objects

# ---- sqlite, in the middle of its life ----
if [ -z "$brief" ] && command -v sqlite3 >/dev/null; then
	inside 'sqlite3 db "create table t(x); insert into t values(1)"'
	checkpoint sqlite
	inside 'sqlite3 db "delete from t; vacuum"; rm -f db; echo no >db'
	restore sqlite
	[ "$(inside 'sqlite3 db "pragma integrity_check; select * from t"')" = "$(printf 'ok\n1')" ] || fail "sqlite"
fi

# ---- random programs, restored in any order ----
seen+=";$PYTHON -c 'import sys; sys.path.insert(0, \"$T\"); import program
for line in program.view(b\".\"):
	if b\"/objects/\" not in line[0]: print(*line)'"
for ((i = 1; i <= PLAYS; i++)); do
	# A checkpoint is refused where its owner may not read a file.
	inside "$PYTHON $T/program.py $i $STEPS >/dev/null && find . -type f ! -perm -400 -exec chmod u+r {} +" ||
		fail "program $i"
	checkpoint "play$i"
done
for ((i = 1; i <= PLAYS; i++)); do
	restore "play$((i * 7 % PLAYS + 1))"
done
seen=${seen%%;*}
restore clean

# ---- what lives goes on: its directory is the old one, its descriptors are, and what it writes later is seen ----
session exec -d "$id" -- "$PYTHON" -c '
import mmap, os, time
f = open("mapped", "w+b")
f.write(b"a" * 8192)
f.flush()
m = mmap.mmap(f.fileno(), 0)
os.chdir("a")
m[0] = ord("b")
open("../ready", "w").close()
while not os.path.exists("../go"):
    time.sleep(0.01)
m[1] = ord("c")
os.stat(".")
open("../said", "w").write(os.getcwd() + open("two").read())
while not os.path.exists("../end"):
    time.sleep(0.01)' >"$T/number"
until [ -n "$(inside 'ls ready 2>/dev/null')" ]; do sleep 0.05; done
checkpoint living
inside 'touch go; until [ -s said ]; do sleep 0.05; done; head -c 2 mapped' >"$T/two"
[ "$(cat "$T/two")" = bc ] || fail "the mapped file: $(cat "$T/two")"
checkpoint later # its ctime may be the same
restore living
[ "$(inside 'head -c 2 mapped; ls go said 2>/dev/null')" = ba ] || fail "a mapped file was not restored"
restore later
[ "$(inside 'head -c 2 mapped; ls said')" = "$(printf 'bcsaid')" ] || fail "a mapped file was not copied"
[ "$(inside 'cat said')" = "$W/atwo" ] || fail "what lives said $(inside 'cat said')"
inside 'touch end'

# ---- names of every byte, and the longest ----
restore clean
names='import os, sys
names = [bytes([b]) for b in range(1, 256) if b not in b"/."] + [b"\xff" * 255, b"-rf", b"...", b"a\nb"]
os.makedirs("names/" + "d" * 255, exist_ok=True)
for name in names:
    if sys.argv[1] == "make":
        open(b"names/" + name, "wb").write(name)
    elif os.path.lexists(b"names/" + name):
        os.unlink(b"names/" + name)
        os.mkdir(b"names/" + name)'
inside "$PYTHON -c '$names' make"
checkpoint names
inside "$PYTHON -c '$names' break"
restore names
"$CALLGATE" ws diff --checkpoint names --json "$id" | jq -r .path | wc -l >"$T/count"
[ "$(cat "$T/count")" -ge 257 ] || fail "names: $(cat "$T/count")"

# ---- a program exchanges directories and files all the time: each checkpoint has one state of it ----
inside 'mkdir -p race/1 race/2; for i in 1 2; do echo $i >race/$i/who; echo $i >race/f$i; done'
session exec -d "$id" -- "$PYTHON" -c '
import ctypes, os
swap = lambda a, b: ctypes.CDLL(None).renameat2(-100, a.encode(), -100, b.encode(), 2)
open("racing", "w").close()
while not os.path.exists("halt"):
    swap("race/1", "race/2")
    swap("race/f1", "race/f2")
    os.rename("race/1/who", "race/who")
    os.rename("race/who", "race/2/who2")
    os.rename("race/2/who2", "race/1/who")
open("halted", "w").close()' >"$T/number"
until [ -n "$(inside 'ls racing 2>/dev/null')" ]; do sleep 0.05; done
for ((i = 1; i <= RACES; i++)); do
	session checkpoint "$id" "race$i" >/dev/null || fail "a racing checkpoint"
	((i % 3)) || session restore "$id" "race$((RANDOM % i + 1))" || fail "a racing restore"
done
inside 'touch halt; until [ -e halted ]; do sleep 0.05; done' # a restore takes away what it looks for
for ((i = 1; i <= RACES; i++)); do
	session restore "$id" "race$i" || fail "a raced checkpoint"
	[ "$(inside 'cat race/f? | sort; find race -name "who*" -exec cat {} + | sort' | tr '\n' ' ')" = "1 2 1 2 " ] ||
		fail "raced $i: $(inside 'find race -type f -exec grep . {} +')"
done

# ---- many ----
many()
{
	restore clean
	for ((i = 1; i <= MANY; i++)); do
		inside "echo $i >count; echo $i >n$i"
		session checkpoint "$id" "many$i" >/dev/null || fail "checkpoint $i"
	done
	session restore "$id" many7 || fail "restore 7 of $MANY"
	[ "$(inside 'cat count; ls | grep -c "^n[0-9]"' | tr '\n' ' ')" = "7 7 " ] || fail "7 of $MANY"
	session restore "$id" "many$MANY" || fail "restore $MANY"
	[ "$(inside 'cat count; ls | grep -c "^n[0-9]"' | tr '\n' ' ')" = "$MANY $MANY " ] || fail "$MANY of $MANY"
	session checkpoint --remove "$id" many7 || fail "remove"
	session restore "$id" many7 2>/dev/null && fail "restored a removed one"
}
((MANY == 0)) || many

# ---- killed in the middle: the session goes on, and another restore mends it ----
inside 'for i in $(seq 100); do mkdir -p k$i; echo $i >k$i/x; done'
checkpoint many
killed=0
kill_one() # WORD…: of callgate session
{
	"$CALLGATE" session "$@" >/dev/null 2>&1 &
	sleep "0.0$((RANDOM % 50 + 10))"
	kill -KILL $!
	wait $! 2>/dev/null
	[ $? != 137 ] || ((killed += 1))
}
for ((i = 1; i <= KILLS; i++)); do
	kill_one restore "$id" clean
	restore many
	kill_one checkpoint "$id" "killed$i"
	restore many
done
[ -z "${CHECK_LONG:-}" ] || echo "killed in the middle: $killed of $((2 * KILLS))"
session checkpoint --list "$id" | grep -q '^many  ' || fail "list: $(session checkpoint --list "$id")"

# ---- refused ----
refuses() # TEXT COMMAND…
{
	local text=$1
	shift
	"$@" >/dev/null 2>"$T/err" && fail "$*: not refused"
	grep -qF -- "$text" "$T/err" || fail "$*: $(cat "$T/err")"
}
refuses "no checkpoint none" session restore "$id" none
refuses "no checkpoint ../0" session restore "$id" ../0
refuses "has a checkpoint many already" session checkpoint "$id" many
refuses "is no name" session checkpoint "$id" ../x
refuses "is no name" session checkpoint "$id" .x
refuses "name a session" session checkpoint
refuses "no such session" session checkpoint 0000
stays "at the end"

# ---- the session is killed while a client restores ----
keeper=$(pgrep -f "session create ${WORKSPACE_COW:---cow} --profile minimal -w $W " | head -n 1)
session restore "$id" clean &
sleep 0.02
kill -KILL "$keeper"
wait $! 2>/dev/null
in_use()
{
	"$CALLGATE" ws diff "$id" >"$T/diff" 2>"$T/err"
	grep -q 'in use' "$T/err"
}
awaited not in_use
[ ! -s "$T/err" ] || fail "diff of what was killed: $(cat "$T/err")"
stays "when the session was killed"
"$CALLGATE" ws discard "$id" || fail "discard"

# ---- what becomes of the workspace is on record: what programs read after a restore is explained by nothing else ----
id=$(session create "${WORKSPACE_COW:---cow}" --profile minimal -w "$W" -r /usr -x /usr/bin --audit "$T/audit") ||
	die "create with --audit"
inside 'echo one >two'
session checkpoint "$id" >/dev/null || fail "checkpoint with --audit"
session restore "$id" 1 || fail "restore with --audit"
refuses "no checkpoint none" session restore "$id" none
cat >"$T/hang-up.py" <<'END'
import glob, json, os, socket, sys
path, = glob.glob(os.environ.get('TMPDIR', '/tmp') + '/callgate-*/session-' + sys.argv[1]) or ['none']
client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
client.connect(path)
client.send(json.dumps({'op': 'workspace', 'for': sys.argv[2]}).encode())
print(client.recv(65536).decode())
END
"$PYTHON" "$T/hang-up.py" "$id" restore | jq -e .paused >/dev/null || fail "a client does not get the workspace"
"$PYTHON" "$T/hang-up.py" "$id" other |
	jq -e '.error.message | test("neither .*checkpoint.* nor .*restore")' >/dev/null ||
	fail "a client gets it for anything"
session stop "$id"
"$CALLGATE" audit show --json --event workspace "$T/audit" |
	jq -c '[.reason, .path, .ret, .errno, .cause, .verdict, .rule]' >"$T/records"
diff - "$T/records" >&2 <<'END' || fail "records of the workspace"
["checkpoint","1",0,null,null,"allow","workspace"]
["restore","1",0,null,null,"allow","workspace"]
["restore","none",null,"ENOENT",null,"allow","workspace"]
["restore",null,null,"ECANCELED","the client hung up before it gave it back","allow","workspace"]
END
"$CALLGATE" ws discard "$id" || fail "discard"

id=$(session create --profile minimal -w "$W" -r /usr -x /usr/bin -- /bin/sh) || die "create"
refuses "has no workspace" session checkpoint "$id"
session stop "$id" || fail "stop"
