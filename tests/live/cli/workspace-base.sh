#!/bin/bash
# callgate ws apply shows the base of each conflict: the file as it was before the program first changed it, whatever
# the program did with its names; or it says why there is none. Without a base, the program's own write goes on.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/workspace-lib.sh"
need jq "$PYTHON"
W=$T/w

cow() # OPTION… -- PROGRAM…: the workspace in $id
{
	cg run --json "${WORKSPACE_COW:---cow}" --profile minimal -w "$W" -r /usr -x /usr/bin "$@" \
		>"$T/result" 2>"$T/err"
	id=$(jq -r '.workspace.id // empty' "$T/result")
}

conflicts() # applies, and puts what is told of each conflict into $T/said
{
	local status=0
	cg ws apply "$id" >"$T/out" 2>"$T/said" || status=$?
	[ $status = 3 ] || fail "status $status: $(cat "$T/out" "$T/said")"
}

base() # FILE TEXT: the base of a conflict is a file with this text
{
	local path
	path=$(sed -n "s|^callgate ws apply: $1: conflict.*; base: \(/[^;]*\);.*|\1|p" "$T/said")
	[ "$(cat "$path")" = "$2" ] || fail "the base of $1 is not '$2': $(cat "$T/said")"
}

none() # FILE WHY
{
	grep -q "^callgate ws apply: $1: conflict.*; base: none, $2;" "$T/said" || fail "$1: not '$2': $(cat "$T/said")"
}

fresh()
{
	discard_all
	rm -rf "$W"
	mkdir -p "$W/d/sub"
	for name in one two three four five six d/f d/sub/g; do echo "old $name" >"$W/$name"; done
	head -c 2M /dev/zero >"$W/large"
	: >"$W/empty"
	ln -s one "$W/link"
	mkfifo "$W/fifo"
	later
}

all='one two three four five six d/f d/sub/g large empty link fifo made'
outside()
{
	rm "$W/link" "$W/fifo"
	for name in $all; do echo outside >"$W/$name"; done
}

# Each way of changing a file, and what is no regular file. The workspace has more than one conflict of one base.
fresh
cow -- /bin/sh -c 'umask 777; echo x >>one; : >two; mv three 3; rm four; chmod 600 five; echo x >n; mv n six
	touch empty; echo x >>d/f; rm -r d/sub; echo x >large; rm link fifo; echo x >made; umask 0'
outside
conflicts
for name in one two three four five six d/f d/sub/g; do base "$name" "old $name"; done
base empty ''
if cp --reflink=always "$W/one" "$T/clone" 2>/dev/null; then
	grep -q '^callgate ws apply: large: conflict.*; base: /' "$T/said" || fail "large has no base: $(cat "$T/said")"
else
	none large 'it has more than 1 MiB, and the file system of TMPDIR cannot clone it'
fi
none link 'it was no regular file'
none fifo 'it was no regular file'
none made 'there was nothing when the program first changed it'
conflicts
base one 'old one'

# Which file is kept does not depend on what the program does with names.
fresh
cow -r "$PYTHON" -- "$PYTHON" -c 'import os
os.rename("one", "x"); open("one", "w").write("program"); os.rename("one", "y"); os.rename("x", "one")
open("one", "a").write("more")
os.rename("d/f", "two")
os.mkdir("e"); open("e/three", "w").write("evil"); os.remove("three"); os.rename("e/three", "three")
os.remove("d/sub/g"); os.rmdir("d/sub"); os.symlink("/etc", "d/sub"); os.remove("d/sub"); os.mkdir("d/sub")
open("d/sub/g", "w").write("evil")
os.remove("link"); os.mkdir("link"); open("link/made", "w").write("x")
os.symlink("four", "s"); open("s", "a").write("through a link")'
for name in one two three four d/f d/sub/g; do echo outside >"$W/$name"; done
conflicts
for name in one two three four d/f d/sub/g; do base "$name" "old $name"; done

# The program cannot read bases, also where it may read TMPDIR.
fresh
cow -r "$TMPDIR" -- /bin/sh -c 'echo x >>one; cat '"$TMPDIR/callgate-*/workspaces/*/0/bases" || :
outside
conflicts
base one 'old one'
! jq -r .stdout "$T/result" | grep -q old || fail "read: $(jq -r .stdout "$T/result")"

# A limit of the disk is the program's first of all.
fresh
rm "$W/large"
cow --disk 1M -r "$PYTHON" -- "$PYTHON" -c 'import os
for i in range(90): open("one", "w").write("x" * 9000)
open("big", "w").write("x" * 700000)'
[ "$(stat -c %s "$TMPDIR"/callgate-*/workspaces/"$id"/0/*/big)" = 700000 ] || fail "not written: $(cat "$T/result")"
head -c 200000 /dev/zero >"$W/two"
cow --disk 1M -- /bin/sh -c 'echo x >one; echo x >two'
outside
[ "$(jq -r .exit_code "$T/result")" = 0 ] || fail "not written: $(cat "$T/result")"
conflicts
base one 'old one'
none two 'limits.disk had no room for it'

# What is kept counts with the paths and texts of its records: new names for one file do not make a disk full.
fresh
rm "$W/large"
cow --disk 1M -r "$PYTHON" -- "$PYTHON" -c 'import os
below = "/".join(["x" * 200] * 10)
os.makedirs("m0/" + below)
open("m0/" + below + "/file", "w").close()
for i in range(400):
    os.rename("m%d" % i, "m%d" % (i + 1))
    os.chmod("m%d/%s/file" % (i + 1, below), 0o600 + i % 8)'
[ "$(jq -r .exit_code "$T/result")" = 0 ] || fail "not changed: $(tail -n 5 "$T/result")"
kept=$(stat -c %s "$TMPDIR"/callgate-*/workspaces/"$id"/0/bases 2>/dev/null || echo 0)
[ "$kept" -le 131072 ] || fail "1/8 of limits.disk is 131072 bytes, and bases take $kept"

# On a full file system the program's write goes on as without a base.
if [ "$(id -u)" = 0 ] && mkdir "$T/small" && mount -t tmpfs -o size=4M small "$T/small" 2>/dev/null; then
	trap 'unmounted "$T/small"; live_done' EXIT
	fresh
	rm "$W/large"
	head -c 900000 /dev/zero >"$W/two"
	head -c 900000 /dev/zero >"$W/three"
	discard_all
	was=$TMPDIR
	export TMPDIR=$T/small
	cow -r "$PYTHON" -- "$PYTHON" -c '
for name in "two", "three":
    with open(name, "r+") as file: file.write("x")'
	[ "$(jq -r .exit_code "$T/result")" = 0 ] || fail "not written: $(cat "$T/result" "$T/err")"
	echo outside >"$W/three"
	conflicts
	none three 'the file system of TMPDIR was full'
	unmounted "$T/small"
	export TMPDIR=$was
	trap live_done EXIT
fi

# What the run has read, and what was changed outside since, is a warning. What it has changed itself is not, nor what
# it only looked at; an apply makes no warning.
stale() # FILE…: of which there are warnings, in their order
{
	[ "$(cg ws diff "$id" --json | jq -r 'select(.warning == "stale_read").path' | sort | xargs)" = "$*" ] ||
		fail "stale: $(cg ws diff "$id" --json) not $*"
}
fresh
cp /usr/bin/true "$W/d/sub/run"
later
cow -x "$W/d/sub/run" -- /bin/sh -c 'cat one two three four d/f >/dev/null; ls -l five d/sub; echo x >>four
	echo x >made; cat made; mkdir e; mv made e/made; cat e/made; d/sub/run
	rm -r d/sub; mkdir d/sub; cat six; echo x >six' || :
stale
cg ws apply "$id" >/dev/null || fail "not applied"
stale
fresh
cp /usr/bin/true "$W/run"
cow -x "$W/run" -- /bin/sh -c 'cat one two three four d/f link >/dev/null; ls -l five d/sub; echo x >>four; ./run' || :
for name in one four five d/sub/g run; do echo outside >>"$W/$name"; done
rm "$W/d/f"
mv "$W/five" "$W/two"
stale d/f one run two
status=0
cg ws diff "$id" >"$T/out" 2>"$T/said" || status=$?
[ $status = 1 ] || fail "status $status"
for text in 'one: changed' 'd/f: removed'; do
	grep -qx "callgate ws diff: warning: $text outside after the run had read it" "$T/said" ||
		fail "not said: $text: $(cat "$T/said")"
done
conflicts
grep -q 'ws apply: warning: two: changed' "$T/said" || fail "not said: $(cat "$T/said")"
cg ws diff "$id" --json >"$T/out" || :
"$CALLGATE" ws diff "$id" | grep -q '^M  four  .*conflict: changed outside since the run began$' ||
	fail "not marked: $("$CALLGATE" ws diff "$id")"
jq -r 'select(.path == "four").conflict.base' "$T/out" | grep -q '/base/[0-9]*/four$' || fail "no base: $(cat "$T/out")"
sum=$(echo 'old four' | sha256sum)
jq -es --arg sum "${sum%% *}" 'map(select(.conflict != null)) | any(.[]; .path == "four") and all(.[];
	(.conflict.base == null) == (.conflict.base_sha256 == null)) and
	(map(select(.path == "four"))[0] | .conflict.base_sha256 == $sum and .old.sha256 != $sum)' \
	"$T/out" >/dev/null ||
	fail "the base's SHA-256: not ${sum%% *}: $(cat "$T/out")"
discard_all

# Nor does the apply change what the run has read, when it replaces, removes or makes another name of the same file.
fresh
for name in one three; do
	ln "$W/$name" "$W/d/$name"
	ln "$W/$name" "$W/d/sub/$name"
done
later
cow -- /bin/sh -c 'cat one three d/one d/three d/sub/one d/sub/three two >/dev/null; echo x >>d/one; rm d/three' || :
stale
cg ws apply "$id" >"$T/out" 2>"$T/said" || fail "not applied: $(cat "$T/out" "$T/said")"
[ ! -s "$T/said" ] || fail "said: $(cat "$T/said")"
stale
[ "$(ls "$TMPDIR"/callgate-*/workspaces/"$id"/0/reads*)" = "$(ls "$TMPDIR"/callgate-*/workspaces/"$id"/0/reads)" ] ||
	fail "left: $(ls "$TMPDIR"/callgate-*/workspaces/"$id"/0)"
echo outside >>"$W/three"
echo outside >>"$W/two"
if [ "${WORKSPACE_COW:-}" = --cow=copy ]; then # the program has removed a name of "three": it is in the layer
	stale two
else
	stale d/sub/three three two
fi
discard_all

# What was changed outside before the program changed it is a conflict, although the base is that: the program need
# not have seen it. The directory has it as it was left.
fresh
: >"$T/up"
# shellcheck disable=SC2094 # the program's output, and its wait for what is done meanwhile
"$CALLGATE" run --json "${WORKSPACE_COW:---cow}" --profile minimal -w "$W" -r /usr -r "$T/up" -x /usr/bin -- \
	/bin/sh -c "cat one three four >in; until [ -s '$T/up' ]; do sleep 0.02; done
	echo new >one; echo new >two; rm three; echo new >made; mv made four; ln -sf two link; rm five" \
	>"$T/result" 2>"$T/err" &
runner=$!
began() { cat "$TMPDIR"/callgate-*/workspaces/*/0/{upper,copy}/in 2>/dev/null | grep -q four; }
awaited began || fail "it has not begun: $(cat "$T/err")"
for name in one two three four; do echo "outside $name" >"$W/$name"; done
ln -sf three "$W/link"
echo go >"$T/up"
wait "$runner" || fail "the program: $(cat "$T/err")"
id=$(jq -r .workspace.id "$T/result")
conflicts
for name in one two three four; do
	[ "$(cat "$W/$name")" = "outside $name" ] || fail "$name is lost: $(cat "$T/out" "$T/said")"
	grep -q "ws apply: $name: conflict" "$T/said" || fail "$name is no conflict: $(cat "$T/said")"
done
[ "$(readlink "$W/link")" = three ] || fail "the link is lost: $(ls -l "$W")"
[ ! -e "$W/five" ] || fail "five was not deleted: $(cat "$T/out" "$T/said")"
discard_all
