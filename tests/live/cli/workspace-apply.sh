#!/bin/bash
# callgate ws apply makes the directory what the program saw, wholly or in part; what was changed outside meanwhile is
# not touched, nor is what runs later put there unasked; after a SIGKILL each file is wholly old or new.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/workspace-lib.sh"
need jq
W=$T/w
KILLS=${KILLS:-3}

cow() # PROGRAM…: the result in $T/result, the workspace in $id
{
	cg run --json "${WORKSPACE_COW:---cow}" --profile minimal -w "$W" -r /usr -x /usr/bin -- "$@" \
		>"$T/result" 2>"$T/err"
	id=$(jq -r '.workspace.id // empty' "$T/result")
}

ws() # STATUS VERB ARGUMENT…: stdout in $T/out, stderr in $T/said
{
	local expected=$1 status=0
	shift
	cg ws "$@" >"$T/out" 2>"$T/said" || status=$?
	[ $status = "$expected" ] || fail "ws $*: status $status, not $expected: $(cat "$T/out" "$T/said")"
}

said() # TEXT
{
	grep -qF -- "$1" "$T/said" || fail "not said: $1: $(cat "$T/said")"
}

has() # FILE TEXT
{
	[ "$(cat "$W/$1" 2>/dev/null)" = "$2" ] || fail "$1 is: $(cat "$W/$1" 2>&1)"
}

fresh() # makes the tree
{
	rm -rf "$W"
	mkdir -p "$W/a/b/c" "$W/empty" "$W/d/e"
	echo one >"$W/one"
	printf 'two\0\377' >"$W/a/two"
	echo three >"$W/a/b/three"
	echo odd >"$W/$(printf 'odd\n\033\377')"
	echo f >"$W/d/e/f"
	ln -s ../one "$W/a/link"
	truncate -s 1M "$W/a/sparse"
	echo twice >"$W/twice"
	ln "$W/twice" "$W/again"
	touch -d '2001-01-01' "$W/one" "$W/a/two"
	later
}

discard_all()
{
	local each
	for each in $(cg ws list --json | jq -r .id); do
		ws 0 discard "$each"
	done
}

# Directories have the times that the program left, unless they were changed outside.
fresh
cow /bin/sh -c 'echo 1 >new; echo 1 >d/new; echo 1 >a/b/new; touch -d 2003-03-03 d a/b; touch -d 2004-04-04 .'
: >"$W/a/b/outside"
ws 0 apply "$id" new a
ws 0 apply "$id"
has new 1
[ "$(date -r "$W" +%Y) $(date -r "$W/d" +%Y)" = '2004 2003' ] || fail "times: $(ls -ld "$W" "$W/d")"
[ "$(date -r "$W/a/b" +%Y)" != 2003 ] || fail "the time of a directory that was changed outside: $(ls -ld "$W/a/b")"
ws 0 diff "$id"
ws 0 apply "$id"
discard_all

# What matches nothing is told and is exit status 3; the rest is applied. What was applied before matches.
fresh
cow /bin/sh -c 'echo 1 >new; echo 1 >a/new; rm one'
ws 3 apply "$id" new nowhere 'a/*.c'
has new 1
[ "$(cat "$T/said")" = 'callgate ws apply: nowhere: the run has changed nothing there
callgate ws apply: a/*.c: the run has changed nothing there' ] || fail "no match: $(cat "$T/said")"
ws 3 apply --json "$id" a nowhere
jq -es 'map(.result) == ["applied", null] and .[1].warning == "no_match" and .[1].pattern == "nowhere"' "$T/out" \
	>/dev/null || fail "no match: $(cat "$T/out")"
ws 0 apply "$id" one
ws 0 apply "$id" one new 'a/n*' .
ws 3 apply "$id" twice
discard_all
fresh
cow /bin/sh -c 'rm -r d a; echo new >a'
ws 0 apply "$id"
ws 0 apply "$id" d a
ws 3 apply "$id" d/e/f a/b
said 'd/e/f: the run has changed nothing there'
said 'a/b: the run has changed nothing there'
discard_all
cow /bin/true
ws 0 apply "$id" .
discard_all

# In parts. What is not named stays as it is.
fresh
cow /bin/sh -c 'echo A >a/b/three; mkdir -p x/y; echo B >x/y/z; echo C >x/other; rm -r d; echo D >d; rm again
	rm a/two; ln -s b a/two; mv one a/uno; chmod 700 empty; mkfifo pipe; chmod g+s x; truncate -s 10G big'
ws 0 apply "$id" x/y/z './d' 'a/**'
has a/b/three A
has x/y/z B
has d D
has a/uno one
[ "$(readlink "$W/a/two")" = b ] || fail "no link: $(ls -l "$W/a")"
[ "$(stat -c %a "$W/x")" = 2755 ] || fail "the mode of x: $(stat -c %a "$W/x")"
ws 1 diff "$id"
[ "$(cut -c4- "$T/out" | cut -d' ' -f1 | tr '\n' ,)" = 'again,big,empty/,pipe,x/other,' ] ||
	fail "left: $(cat "$T/out")"
ws 0 apply "$id" --theirs
ws 0 diff "$id"
[ "$(stat -c '%s %b' "$W/big")" = "$((10 << 30)) 0" ] || fail "no hole: $(stat -c '%s %b' "$W/big")"
{ [ -p "$W/pipe" ] && [ ! -e "$W/again" ] && [ "$(stat -c %h "$W/twice")" = 1 ]; } || fail "rest: $(ls -lR "$W")"
discard_all

# A deletion that is named, in a directory that becomes a file, which is not.
fresh
cow /bin/sh -c 'rm -r d; echo D >d'
ws 0 apply "$id" d/e/f
{ [ -d "$W/d/e" ] && [ ! -e "$W/d/e/f" ]; } || fail "d/e/f: $(ls -lR "$W/d")"
ws 0 apply "$id" --theirs
has d D
discard_all

# Names of one file are such in the directory, also when one of them is applied later.
fresh
cow /bin/sh -c 'echo L >l1; ln l1 a/l2; ln l1 l3'
ws 0 apply "$id" a
ws 0 apply "$id" --theirs
{ [ "$W/a/l2" -ef "$W/l1" ] && [ "$W/l3" -ef "$W/l1" ]; } || fail "no hard links: $(ls -li "$W" "$W/a")"
discard_all

# Also if one takes the place of a directory, whose inode number the file has got.
fresh
mkdir "$W"/e{1..5}
later
# shellcheck disable=SC2016 # the program's shell expands it
cow /bin/sh -c 'for i in 1 2 3 4 5; do rmdir e$i; echo $i >a$i; ln a$i e$i; done'
ws 0 apply "$id"
for i in {1..5}; do [ "$W/a$i" -ef "$W/e$i" ] || fail "no hard link instead of a directory: $(ls -li "$W")"; done
discard_all

# Conflicts: changed, removed, and made outside.
fresh
cow /bin/sh -c 'echo program >one; rm a/two; echo program >made; echo program >twice; rm -r d'
echo me >"$W/one"
echo me >"$W/a/two"
echo me >"$W/made"
echo me >"$W/d/mine"
rm "$W/twice"
ws 3 apply "$id"
said 'one: conflict'
said "ours: $W/one.ours; theirs: $W/one.theirs"
said 'a/two: conflict'
said 'made: conflict'
said 'd/mine: conflict'
said 'd/e/f: conflict'
said 'd: conflict, not applied: entries of it stay'
has one me
has a/two me
has made me
has d/mine me
has d/e/f f # the user has worked in d
ws 0 apply "$id" --ours
has one me
has d/mine me
ws 125 apply "$id" --ours --theirs
ws 0 apply "$id" --theirs
has one program
has made program
has twice program
{ [ ! -e "$W/a/two" ] && [ ! -e "$W/d" ]; } || fail "not deleted: $(ls -R "$W")"
discard_all

# The versions of a conflict are beside its file, also after further applies once each, with a mode that both files
# have, and never in the place of anything else.
versions() # NAME…: all versions in the directory
{
	local found
	found=$(cd "$W" && find . -regex '.*\.\(base\|ours\|theirs\)\(\.[0-9]\)?' -printf '%P\n' | sort | xargs)
	[ "$found" = "$(echo "$*" | xargs)" ] || fail "versions: $found, not $*"
}
fresh
long=$(printf '%0253d' 0)
echo long >"$W/$long"
chmod 6754 "$W/one"
mkdir -p "$W/.git/hooks"
echo hook >"$W/.git/hooks/post"
later
# shellcheck disable=SC2016 # the program's shell expands it
cow /bin/sh -c 'for name in .git/hooks/post one a/two a/b/three 0*; do echo program >>"$name"; done
	echo p >a/two.base; chmod 777 one; rm -r d; echo x >Makefile; echo x >fifo; rm a/link; ln -s program a/link
	chmod 600 twice'
echo me >"$W/Makefile"
for name in .git/hooks/post one a/two a/b/three d/e/f "$long"; do echo me >>"$W/$name"; done
ln -sfn me "$W/a/link"
chmod 640 "$W/twice"
mkfifo "$W/a/b/three.base"
ln -s /etc "$W/a/b/three.ours"
echo kept >"$W/one.theirs"
all='a/b/three.base a/b/three.base.2 a/b/three.ours a/b/three.ours.2
	a/b/three.theirs a/two.base a/two.base.2 a/two.ours a/two.theirs d/e/f.base d/e/f.ours one.base one.ours
	one.theirs one.theirs.2'
for turn in 1 2; do
	[ $turn = 1 ] || [ "$(id -u)" = 0 ] || chmod 555 "$W/a"
	ws 3 apply "$id"
	# shellcheck disable=SC2086 # words
	versions $all
	said "; base: $W/one.base; ours: $W/one.ours; theirs: $W/one.theirs.2"
	for text in "$long: .*; not all are written beside it: the name would be too long" \
		'Makefile: .*/0/upper/Makefile; not .* beside it: a build tool .* runs or obeys it' \
		"a/link: .*; ours: $W/a/link; theirs: /.*/0/upper/a/link" \
		'.*/w/.git/hooks/post; theirs: .*/0/upper/.git/hooks/post; not .* beside it: git runs or obeys it'; do
		grep -q "^callgate ws apply: $text\$" "$T/said" || fail "not said: $text: $(cat "$T/said")"
	done
done
chmod 755 "$W/a"
has one.base one
has one.ours $'one\nme'
has one.theirs kept
has one.theirs.2 $'one\nprogram'
has a/two.base p
has a/b/three.base.2 three
has d/e/f.base f
has Makefile me
[ "$(stat -c %a "$W/one.theirs.2" "$W/one.base" | xargs)" = '754 754' ] || fail "modes: $(ls -l "$W")"
ws 3 apply --allow-executed "$id" .git
# shellcheck disable=SC2086 # words
versions $all
echo more >>"$W/one"
ws 3 apply "$id" one
has one.ours.2 $'one\nme\nmore'
ws 0 apply "$id" --theirs --allow-executed
has one.base one # who has merged removes them
[ ! -e "$W/d" ] || fail "not removed: d"
discard_all
if [ "$(id -u)" != 0 ]; then
	fresh
	cow /bin/sh -c 'echo program >a/b/three'
	echo me >"$W/a/b/three"
	chmod 555 "$W/a/b"
	ws 3 apply "$id"
	said '; not all are written beside it: Permission denied'
	chmod 755 "$W/a/b"
	versions
	discard_all
fi

# As JSON: one object a change, with what became of it, and nothing on standard error.
fresh
cow /bin/sh -c 'cat one >/dev/null; echo p >a/two; echo x >Makefile; echo x >new; rm d/e/f; echo p >a/b/three'
echo me >"$W/a/two"
echo me >>"$W/one"
echo me >"$W/d/e/f"
ws 3 apply --json "$id" a/two Makefile new d
[ ! -s "$T/said" ] || fail "said: $(cat "$T/said")"
jq -es --arg w "$W" 'length == 5 and (map(select(.result)) | map({(.path): .}) | add |
	(map_values(.result) == {"a/two": "conflict", Makefile: "runs_later", new: "applied", "d/e/f": "conflict"}) and
	.["a/two"].conflict == {base: ($w + "/a/two.base"), no_base: null, ours: ($w + "/a/two.ours"),
		theirs: ($w + "/a/two.theirs"), not_beside: null} and .["d/e/f"].conflict.theirs == null and
	.new.why == null and (.Makefile.why | test("runs or obeys it"))) and
	(map(select(.warning)) == [{warning: "stale_read", path: "one", removed: false}])' "$T/out" >/dev/null ||
	fail "json: $(cat "$T/out")"
ws 0 apply --json --ours --allow-executed "$id"
[ "$(jq -r 'select(.result).result' "$T/out" | sort | xargs)" = 'applied applied kept kept' ] || fail "$(cat "$T/out")"
discard_all

# The directory itself: mode, attributes, and its group where the user may change that; a conflict when it was changed.
fresh
later
change='chmod 750 .; python3 -c "import os; os.setxattr(b\".\", b\"user.x\", b\"y\")"'
python=(-r /usr/bin/python3 -x /usr/bin/python3)
as=(env)
[ "$(id -u)" != 0 ] || as=(setpriv --groups "0,77")
setfattr -n user.kept -v k "$W" 2>/dev/null || change='chmod 750 .' # no such attributes there
later
[ "$(id -u)" != 0 ] || change="$change; chgrp 77 ."
"${as[@]}" "$CALLGATE" run --json "${WORKSPACE_COW:---cow}" --profile minimal -w "$W" -r /usr -x /usr/bin \
	"${python[@]}" -- /bin/sh -c "$change" >"$T/result" 2>"$T/err"
id=$(jq -r .workspace.id "$T/result")
ws 1 diff "$id"
expected='M  ./  mode 0755 -> 0750'
[ "$(id -u)" != 0 ] || expected="$expected, owner 0:0 -> 0:77"
[[ $change != *python3* ]] || expected="$expected, attributes"
[ "$(cat "$T/out")" = "$expected" ] || fail "not '$expected': $(cat "$T/out" "$T/err")"
ws 3 apply "$id" one
said "one: the run has changed nothing there"
[ "$(stat -c %a "$W")" = 755 ] || fail "applied, though not selected"
chmod 711 "$W"
ws 3 apply "$id"
said '.: conflict, not applied: it was changed outside since the run began; base: none, it is a directory'
[ "$(stat -c %a "$W")" = 711 ] || fail "a conflict is applied"
ws 0 apply --theirs "$id"
[ "$(stat -c %a "$W")" = 750 ] || fail "the mode: $(stat -c %a "$W")"
[ "$(id -u)" != 0 ] || [ "$(stat -c %u:%g "$W")" = 0:77 ] || fail "the owner: $(stat -c %u:%g "$W")"
attribute() { getfattr --absolute-names --only-values -n "$1" "$W" 2>&1; }
[[ $change != *python3* ]] || [ "$(attribute user.x)" = y ] || fail "the attributes: $(attribute user.x)"
[[ $change != *python3* ]] || [ "$(attribute user.kept)" = k ] || fail "attributes are lost: $(attribute user.kept)"
ws 0 diff "$id"
discard_all

# SIGKILL while they are written: each is whole, and another apply writes the rest.
for ((kill = 1; kill <= KILLS; kill++)); do
	fresh
	for i in {1..20}; do echo "old $i" >"$W/f$i"; done
	later
	# shellcheck disable=SC2016 # the program's shell expands it
	cow /bin/sh -c 'for i in $(seq 20); do echo "new $i" >f$i; done'
	for i in {1..20}; do echo "me $i" >"$W/f$i"; done
	"$CALLGATE" ws apply "$id" >/dev/null 2>&1 &
	journal=$(echo "$TMPDIR"/callgate-*/workspaces/"$id")/journal
	until [ "$(stat -c %s "$journal" 2>/dev/null || echo 0)" -ge $((RANDOM % 240)) ] || ! kill -0 $! 2>/dev/null; do
		:
	done
	kill -KILL $! 2>/dev/null
	wait $! 2>/dev/null
	ws 0 recover "$id"
	[ -z "$(find "$W" -name '.callgate-*')" ] || fail "left: $(find "$W" -name '.callgate-*')"
	for word in base=old ours=me theirs=new; do
		for file in "$W"/*."${word%=*}"; do
			i=${file##*/f}
			[ ! -e "$file" ] || [ "$(cat "$file")" = "${word#*=} ${i%%.*}" ] || fail "half: $file"
		done
	done
	ws 3 apply "$id"
	[ "$(find "$W" -name 'f*.*' | wc -l)" = 60 ] || fail "not all, or more: $(ls "$W")"
	discard_all
done

# When not all that is new is put, nothing is deleted: that may be the other name of it.
fresh
cow /bin/sh -c 'cp one a/uno; echo edited >>a/uno; rm one'
mkdir "$W/a/.callgate-$id"
ws 125 apply "$id"
said "ws apply: a/uno: not applied: an entry beside it has the name of ours, .callgate-$id: move it away"
said 'nothing is deleted'
has one one
rmdir "$W/a/.callgate-$id"
ws 0 apply "$id"
[ ! -e "$W/one" ] || fail "not deleted: one"
discard_all
fresh
cow /bin/sh -c 'mv one a/uno; echo edited >>a/uno'
echo me >"$W/a/uno"
ws 3 apply "$id"
said 'nothing is deleted'
has one one
ws 0 apply --theirs "$id"
[ ! -e "$W/one" ] || fail "not deleted: one"
discard_all

# A directory that was moved there: its files are not those that the program changed, although they are older.
fresh
mkdir -p "$T/kept/deep" "$T/other"
echo mine >"$T/kept/deep/f"
echo other >"$T/other/three"
later
cow /bin/sh -c 'echo program >a/b/three; rm -r d'
later
mv "$T/kept" "$W/d/kept"
mv "$W/a/b" "$T/was"
mv "$T/other" "$W/a/b"
ws 3 apply "$id"
said 'd/kept/deep/f: conflict'
said 'a/b/three: conflict'
has d/kept/deep/f mine
has a/b/three other
rm -rf "$T/was"
fresh
mkdir "$T/other"
echo other >"$T/other/one"
later
cow /bin/sh -c 'echo program >one'
mv "$W" "$T/was"
mv "$T/other" "$W"
ws 3 apply "$id"
said 'another directory'
has one other
ws 0 apply --theirs "$id"
has one program
discard_all

# What is changed outside between the comparison and the moment of the replacement is a conflict, too.
if command -v strace >/dev/null && strace -o /dev/null true 2>/dev/null; then
	fresh
	for i in {01..12}; do echo "old $i" >"$W/f$i"; done
	for i in 07 08 09; do touch -d 2001-01-01 "$W/f$i"; done
	ln "$W/f03" "$W/g"
	ln "$W/f04" "$W/h"
	later
	# shellcheck disable=SC2016 # the program's shell expands it
	cow /bin/sh -c 'for f in f*; do echo "new" >$f; done; rm h; rm twice; chmod 700 d; chmod 750 a'
	begin_stopped fsync:3 ws apply --json "$id"
	has f01 new
	chmod 600 "$W/f06"
	echo "OLD 07" >"$W/f07"
	touch -d 2001-01-01 "$W/f07"
	setfacl -m u:1:r "$W/f08" 2>/dev/null || chmod 640 "$W/f08"
	chmod 600 "$W/f09"
	chmod 644 "$W/f09" # its change time tells
	chmod 600 "$W/twice"
	chmod 711 "$W/a"
	go_on
	[ $? = 3 ] || fail "changed meanwhile: $(cat "$T/out" "$T/said")"
	[ "$(jq -r 'select(.result == "conflict").path' "$T/out" | sort | xargs)" = 'a f06 f07 f08 f09 twice' ] ||
		fail "changed meanwhile: $(cat "$T/out" "$T/said")"
	[ "$(stat -c %a "$W/f06" "$W/a" "$W/d" "$W/f07" | xargs)" = '600 711 700 644' ] || fail "$(ls -lR "$W")"
	has f07 'OLD 07'
	has f03 new
	{ [ ! -e "$W/h" ] && [ -e "$W/twice" ]; } || fail "hard links: $(ls -l "$W")"
	discard_all

	# With --ours and --theirs as well, and no versions are written. What came last is not overwritten unseen.
	for option in --ours --theirs; do
		fresh
		for i in {01..12}; do echo "old $i" >"$W/f$i"; done
		later
		# shellcheck disable=SC2016 # the program's shell expands it
		cow /bin/sh -c 'for f in f*; do echo "new" >$f; done; rmdir empty; mkdir made'
		begin_stopped fsync:3 ws apply $option "$id"
		has f01 new
		echo me >"$W/f06"
		echo me >"$W/empty/mine"
		mkdir "$W/made"
		go_on
		status=$?
		[ "$status$option" = 0--ours ] || [ "$status$option" = 3--theirs ] ||
			fail "$option, changed meanwhile: status $status: $(cat "$T/out" "$T/said")"
		if [ $option = --ours ]; then
			[ ! -s "$T/said" ] || fail "--ours says: $(cat "$T/said")"
		else
			said 'f06: conflict, not applied: it was changed outside just now'
			said 'empty: conflict, not applied: entries of it stay'
			said 'made: conflict, not applied: it was changed outside just now'
			said 'not all are written beside it: --theirs writes none, another ws apply takes it'
		fi
		has f05 new
		has f06 me
		has empty/mine me
		versions
		ws 0 apply --theirs "$id"
		has f06 new
		[ ! -e "$W/empty" ] || fail "$option: not deleted in the end"
		discard_all
	done
fi

# A file that was removed outside: what the program made of it is not put there again.
fresh
cow /bin/sh -c 'echo program >a/b/three'
rm "$W/a/b/three"
ws 3 apply "$id"
[ ! -e "$W/a/b/three" ] || fail "put again"
discard_all

# What runs later outside. A directory is not removed for a link that is not put in its place.
fresh
cow /bin/sh -c 'mkdir -p .git/hooks x/.GIT; echo x >.git/hooks/post; echo x >x/.GIT/config; echo x >Makefile
	echo x >a/.envrc; echo x >a/ok; ln -s / out; ln -s b/../../.. a/out; ln -s ../one a/in; rm -r d; ln -s .. d
	mv one conftest.py; echo x >a/package.json; echo x >setid; echo "gitdir: /x" >a/.git
	mkdir -p bare/refs bare/objects .git/rebase-merge; echo "ref: refs/heads/x" >bare/HEAD; echo x >bare/config
	echo x >.git/rebase-merge/git-rebase-todo; echo x >a/GNUmakefile; echo x >rust-toolchain.toml'
ws 3 apply "$id"
for name in .git/hooks/post x/.GIT/config Makefile a/.envrc out a/out d conftest.py a/package.json a/.git bare/HEAD \
	.git/rebase-merge/git-rebase-todo a/GNUmakefile rust-toolchain.toml; do
	said "ws apply: $name: not applied: "
	{ [ ! -L "$W/$name" ] && [ ! -f "$W/$name" ]; } || fail "applied: $name"
done
has d/e/f f
has one one
has a/ok x
[ "$(readlink "$W/a/in")" = ../one ] || fail "not applied: a/in"
ws 0 apply "$id" --allow-executed --theirs
has Makefile x
[ "$(readlink "$W/d")" = .. ] || fail "no link: d"
[ ! -e "$W/one" ] || fail "not renamed"
discard_all

# A link in the directory, put there meanwhile, is not followed.
fresh
mkdir "$T/outside"
cow /bin/sh -c 'echo x >a/b/new; mkdir n; echo x >n/f'
mv "$W/a/b" "$W/kept"
ln -s "$T/outside" "$W/a/b"
ln -s "$T/outside" "$W/n"
ws 3 apply "$id" || :
[ -z "$(ls -A "$T/outside")" ] || fail "followed a link: $(ls -A "$T/outside")"
discard_all

# The versions beside a conflict in a directory that the program has removed are no changes; and a new name of a file
# that was removed outside was never changed there.
fresh
cow /bin/sh -c 'rm -r d; mv a/b/three a/b/four'
echo me >>"$W/d/e/f"
rm "$W/a/b/three"
ws 3 apply "$id"
said "a/b/four: conflict, not applied: the file that it was when the run began, perhaps by another name, was"
said "ours: none"
{ [ -e "$W/d/e/f.base" ] && [ -e "$W/d/e/f.ours" ]; } || fail "not beside: $(ls "$W/d/e")"
echo edited >>"$W/d/e/f.ours"
ws 1 diff "$id"
grep -q '^D  d/e/f  conflict: changed outside since the run began$' "$T/out" || fail "not marked: $(cat "$T/out")"
! grep -F f.base "$T/out" || fail "its own file is a change"
ws 3 apply "$id"
! grep -E '[^ ]/f\.(base|ours): conflict' "$T/said" || fail "its own files are conflicts"
has d/e/f.ours $'f\nme\nedited'
discard_all

# SIGKILL at any moment.
for ((kill = 1; kill <= KILLS; kill++)); do
	fresh
	for i in {1..30}; do echo "old $i" >"$W/f$i"; done
	later
	# shellcheck disable=SC2016 # the program's shell expands it
	cow /bin/sh -c 'for i in $(seq 30); do echo "new $i" >f$i; done; mkdir g; echo x >g/x; rm -r d'
	"$CALLGATE" ws apply "$id" >/dev/null 2>&1 &
	journal=$(echo "$TMPDIR"/callgate-*/workspaces/"$id")/journal
	until [ -s "$journal" ] || ! kill -0 $! 2>/dev/null; do :; done
	sleep "0.00$kill"
	kill -KILL $! 2>/dev/null
	wait $! 2>/dev/null
	if [ -e "$journal" ]; then
		interrupted=yes
		ws 125 apply "$id"
		said 'callgate ws recover'
		ws 125 discard "$id"
		said 'callgate ws recover'
	fi
	ws 0 recover "$id"
	[ -z "$(find "$W" -name '.callgate-*')" ] || fail "left: $(find "$W" -name '.callgate-*')"
	for i in {1..30}; do
		case $(cat "$W/f$i") in "old $i" | "new $i") ;; *) fail "neither: $(cat "$W/f$i")" ;; esac
	done
	ws 0 apply "$id"
	cat "$W"/f{1..30} | cmp -s - <(seq 30 | sed 's/^/new /') || fail "not all new"
	ws 0 diff "$id"
	discard_all
done
[ "${interrupted:-}" ] || echo "note: no apply was interrupted"
