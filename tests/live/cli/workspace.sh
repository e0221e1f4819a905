#!/bin/bash
# --cow leaves the directory of -w byte-identical, times included; the program sees what a native one would see; its
# result names the workspace, and callgate ws lists and discards it. Where it cannot be had, nothing is run.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/workspace-lib.sh"
need jq
W=$T/w

# cow OPTION… -- PROGRAM…: the result in $T/result
cow()
{
	cg run --json "${WORKSPACE_COW:---cow}" --profile minimal -w "$W" -r /usr -x /usr/bin "$@" \
		>"$T/result" 2>"$T/err"
}

holds() # WHAT FILTER: of the result
{
	jq -e "$2" "$T/result" >/dev/null || fail "$1: $(jq -c . "$T/result" | head -c 1500) $(cat "$T/err")"
}

content()
{
	(cd "$1" && find . -type f -exec sha256sum {} + | sort)
}

fresh() # makes the tree
{
	rm -rf "$W"
	mkdir -p "$W/a/b/c" "$W/empty"
	echo one >"$W/one"
	printf 'two\0\377' >"$W/a/two"
	echo three >"$W/a/b/three"
	echo odd >"$W/$(printf 'odd\n\033\377')"
	ln -s ../one "$W/a/link"
	mkfifo "$W/a/pipe"
	truncate -s 1M "$W/a/sparse"
	chmod 750 "$W/a/b"
	content "$W" >"$T/content" # sets access times, so before they are set back
	touch -d '2001-01-01' "$W/one" "$W/a/two" "$W/empty"
}

discard_all()
{
	local id
	for id in $(ws list --json | jq -r .id); do
		ws discard "$id" || fail "discard $id"
	done
	[ -z "$(ws list)" ] || fail "left in the list: $(ws list)"
	[ ! -e "$TMPDIR/callgate-$(id -u)/workspaces" ] || fail "discarded, but left: $(ls -R "$TMPDIR")"
}

fresh
picture "$W" >/dev/null
picture "$W" >"$T/before"
cow -- /bin/sh -c 'echo changed >one; echo new >new; rm a/two; rm -r a/b; mkdir a/b; echo n >a/b/n; chmod 700 empty
	touch -d 2002-02-02 a/link; cat one new a/b/n; ls a'
picture "$W" | cmp -s - "$T/before" || fail "changed: $(picture "$W" | diff - "$T/before")"
holds "ran" '.status == "ok" and .stdout == "changed\nnew\nn\nb\nlink\npipe\nsparse\n" and
	any(.changes[]; .kind == "added" and (.path | endswith("/new")))'
holds "the workspace" '.workspace.id == .run_id and (.workspace.dir | endswith("/w"))'
id=$(jq -r .workspace.id "$T/result")
ws list --json | jq -e --arg id "$id" --arg dir "$W" '.id == $id and .dir == $dir and .in_use == false' >/dev/null ||
	fail "list: $(ws list)"
discard_all
picture "$W" | cmp -s - "$T/before" || fail "changed by discard"
ws discard "$id" 2>/dev/null && fail "discarded twice"
ws discard ../../w 2>/dev/null && fail "discarded a path"
ws discard 2>/dev/null && fail "discarded nothing"

# ws keep: what is marked is not discarded, by name or with all, until that is taken back.
cow -- /bin/sh -c 'echo 1 >new'
id=$(jq -r .workspace.id "$T/result")
cow -- /bin/sh -c 'echo 2 >new'
ws keep --label $'be\033fore' "$id" || fail "keep"
ws list --json | jq -es --arg id "$id" 'map(select(.kept)) | length == 1 and .[0].id == $id and
	(.[0].label | startswith("be") and endswith("fore"))' >/dev/null || fail "kept: $(ws list --json)"
ws list | grep -q "^$id .*  (kept: be.*fore)$" || fail "kept: $(ws list)"
ws list | grep -q $'\033' && fail "a label reaches the terminal"
ws discard "$id" 2>"$T/said" && fail "discarded, though kept"
grep -q "$id: kept; callgate ws keep --undo" "$T/said" || fail "not said: $(cat "$T/said")"
ws discard --json "$id" 0123456789abcdef 2>/dev/null | jq -es 'map([.discarded, .why]) ==
	[[false, "kept"], [false, "no_such_workspace"]]' >/dev/null || fail "discard --json"
ws discard --all --json | jq -es --arg id "$id" 'length == 1 and .[0].id != $id and .[0].discarded and
	.[0].why == null' >/dev/null || fail "discard --all"
[ "$(ws list --json | jq -r .id)" = "$id" ] || fail "left: $(ws list)"
ws discard --all "$id" 2>/dev/null && fail "--all and an id"
ws keep "$id" || fail "kept again"
ws list | grep -q '  (kept)$' || fail "the label stays: $(ws list)"
ws keep --json --label $'a\033' "$id" $'no\377' 2>/dev/null >"$T/out" && fail "no such workspace: kept"
jq -es --arg id "$id" 'map([.kept, .why]) == [[true, null], [null, "no_such_workspace"]] and .[0].id == $id and
	(.[0].label | startswith("a"))' <"$T/out" >/dev/null || fail "keep --json: $(cat "$T/out")"
ws keep --json --undo "$id" | jq -e '.kept == false and .label == null' >/dev/null || fail "keep --json --undo"
ws keep "$id" || fail "kept once more"
for wrong in "--undo --label x $id" "--label $(printf '%0201d' 0) $id" 0123456789abcdef '' .; do
	# shellcheck disable=SC2086 # words
	ws keep $wrong 2>/dev/null && fail "taken: $wrong"
done
ws keep --undo "$id" || fail "not undone"
discard_all

# What cannot be removed is neither "kept" nor passed over, and what is left of another workspace is no failure of this
# one. A process that only reads a workspace, such as callgate ws list, does not keep another one from it.
if command -v strace >/dev/null && strace -o /dev/null true 2>/dev/null; then
	cow -- /bin/sh -c 'echo 1 >new'
	id=$(jq -r .workspace.id "$T/result")
	ws keep "$id"
	strace -qq -o /dev/null -e trace=faccessat,faccessat2 -e inject=faccessat,faccessat2:error=EIO \
		"$CALLGATE" ws discard "$id" 2>/dev/null && fail "discarded, though it may be kept"
	ws list | grep -q "^$id.*(kept" || fail "discarded, though kept: $(ws list)"
	ws keep --undo "$id"
	ws discard "$id" || fail "discard"
	for each in id --all; do
		cow -- /bin/sh -c 'echo 1 >new'
		id=$(jq -r .workspace.id "$T/result")
		strace -qq -o /dev/null -e trace=unlinkat -e inject=unlinkat:error=EPERM \
			"$CALLGATE" ws discard --json "${each/#id/$id}" >"$T/out" 2>"$T/said" && fail "$each: removed"
		grep -q 'Operation not permitted' "$T/said" || fail "$each: $(cat "$T/said")"
		jq -e '.discarded == false and .why == "failed"' "$T/out" >/dev/null || fail "$each: $(cat "$T/out")"
		strace -qq -o /dev/null -e trace=unlinkat -e inject=unlinkat:error=EPERM \
			"$CALLGATE" ws discard --all 2>"$T/said" && fail "$each: what is left is not told"
		ws discard --all || fail "$each: not removed later"
		[ ! -e "$TMPDIR/callgate-$(id -u)/workspaces" ] || fail "$each: left: $(ls -R "$TMPDIR")"
	done
fi
cow -- /bin/sh -c 'echo 1 >new'
id=$(jq -r .workspace.id "$T/result")
store=$(echo "$TMPDIR"/callgate-*/workspaces)
mkdir -p "$store/removed-0123456789abcdef"
: >"$store/removed-0123456789abcdef/x"
if chattr +i "$store/removed-0123456789abcdef/x" 2>/dev/null; then
	ws discard --json "$id" 2>"$T/said" | jq -e '.discarded and .why == null' >/dev/null ||
		fail "what is left of another one: $(cat "$T/said")"
	ws discard --all 2>/dev/null && fail "what is left of another one is not told"
	chattr -i "$store/removed-0123456789abcdef/x"
	cow -- /bin/sh -c 'echo 1 >new'
	id=$(jq -r .workspace.id "$T/result")
fi
mkfifo "$T/locked"
for try in 1 2 3; do # on a busy machine the reader may take longer than the 100 ms in which it is waited for
	# shellcheck disable=SC2016 # sh expands it
	flock -s "$store/$id" sh -c 'echo >"$1"; sleep 0.04' - "$T/locked" &
	read -r _ <"$T/locked"
	ws discard "$id" 2>"$T/said" && break
	wait
	[ $try != 3 ] || fail "a reader keeps it: $(cat "$T/said")"
done
wait
rm "$T/locked"
ws discard --all || fail "left"

begin_run
ws keep "$id" || fail "a run that goes on cannot be kept"
kill "$runner"
end_run
rm "$T/go" "$T/up"
[ "$(ws list --json | jq -r .id)" = "$id" ] || fail "a run that was ended leaves no workspace: $(ws list)"
ws keep --undo "$id"
discard_all
picture "$W" | cmp -s - "$T/before" || fail "changed by runs"

# A directory's name with controls: nothing of it reaches the terminal as it is.
odd=$T/$(printf 'n\n\033[31m\134')
mv "$W" "$odd"
W=$odd cow -- /bin/sh -c 'echo x >x'
holds "an odd name" '.status == "ok"'
[ -e "$odd/x" ] && fail "wrote to the directory with an odd name"
ws list | LC_ALL=C grep -q '[^ -~]' && fail "list shows controls"
[ "$(ws list | wc -l)" = 1 ] || fail "list: $(ws list)"
discard_all
mv "$odd" "$W"

# A run that goes on holds its workspace.
begin_run
ws discard "$id" 2>"$T/err2" && fail "discarded in use"
grep -q 'has not ended' "$T/err2" || fail "in use: $(cat "$T/err2")"
end_run
discard_all

# What was written is kept when the supervisor dies, also if info.json cannot be read. A change of the directory itself
# is one; a run that changed nothing leaves no workspace.
dies() # COMMAND [FILE]: the supervisor dies when the program has run the command; before, FILE of the workspace is junk
{
	mkfifo "$T/never"
	: >"$T/wrote"
	"$CALLGATE" run "${WORKSPACE_COW:---cow}" -q --profile minimal -w "$W" -r /usr -x /usr/bin -i -- \
		/bin/sh -c "$1; echo up; read x" <>"$T/never" >"$T/wrote" 2>"$T/err" &
	runner=$!
	until [ -s "$T/wrote" ]; do kill -0 "$runner" 2>/dev/null || break; done
	[ -z "${2:-}" ] || echo junk >"$(echo "$TMPDIR"/callgate-*/workspaces/*/"$2")"
	read -ra children <"/proc/$runner/task/$runner/children" # of a user, the process that copies ACLs was the first
	kill -KILL "${children[-1]}"
	wait "$runner"
	rm "$T/never"
}
dies 'echo x >last' info.json
[ "$(cat "$TMPDIR"/callgate-*/workspaces/*/0/*/last)" = x ] || fail "lost what was written: $(cat "$T/err")"
rm -rf "$TMPDIR"/callgate-*/workspaces
dies :
[ -z "$(ws list)" ] || fail "nothing was changed, and $(ws list) is left"
dies 'chmod 711 .'
[ "$(ws diff "$(ws list --json | jq -r .id)")" = 'M  ./  mode 0755 -> 0711' ] || fail "the directory itself: $(ws list)"
discard_all

# What would write to the directory past its layer is refused, and leaves no workspace.
printf '%s' '{"version": 1, "name": "again", "filesystem": {"redirect": [{"from": "/again", "to": "@workdir/a"}],
	"read": ["/usr"]}}' >"$T/again.json"
refuses "$W/past" 'the policy also shows a part of it at /again' -p "$T/again.json"
refuses "$W/past" 'leave out one of them' --dry-run
refuses "$W/past" 'leave out one of them' --mode observe
refuses "$W/past" 'not found' --env A=b -r "$T/none" -- /usr/bin/no-such-program
mkdir "$W/empty/tmp"
for dir in "$W" "$W/empty/tmp"; do
	TMPDIR=$dir refuses "$W/past" "$W has TMPDIR in it, where what is written is kept; set TMPDIR to a directory"
	rm -rf "$dir"/callgate-*
done
TMPDIR=$W/empty/tmp refuses "$W/empty/past" "$W/empty has TMPDIR in it" --cow-dir="$W/empty" -w "$W/a"
rm -rf "$W/empty/tmp"
cg run --cow -- /bin/true 2>"$T/err" && fail "no -w: not refused"
grep -q 'name one with -w' "$T/err" || fail "no -w: $(cat "$T/err")"

# A file that was there before gets a second name that is the same file; another name that it had is another one then.
# What is open keeps the old one; what was opened for writing, or gets a name in another directory, is linked as it is,
# or not at all.
ln "$W/one" "$W/a/twin"
content "$W" >"$T/content"
# shellcheck disable=SC2016 # the program's shell expands it
cow -- /bin/sh -c 'set -e; exec 3<one; ln one second; [ one -ef second ]; mv second a; ln a/second a/b/x
	echo more >>a/b/x; chmod 600 a/second; cat a/b/x one; stat -c "%a %h" one; cat <&3; mv one a/b
	[ a/b/one -ef a/second ]; cat a/twin; ln a/b/three three 2>/dev/null || [ ! -e three ]
	ln a/link a/link2 || true; exec 4>>a/two; ln a/two t2 2>/dev/null || cp a/two t2; echo end >&4; ls -A . a'
then='600 3\none\none'
by=$(jq -r .workspace.by "$T/result")
[ "$by" = overlay ] || then='600 4\none\nmore\none\nmore'
holds "a second name" '.status == "ok" and (.stdout | startswith("one\nmore\none\nmore\n'"$then"'\n")) and
	(.stdout | contains("callgate") | not)'
content "$W" | cmp -s - "$T/content" || fail "changed by a second name: $(content "$W" | diff - "$T/content")"
id=$(jq -r .workspace.id "$T/result")
ws diff "$id" >"$T/diff"
grep -q '^D  a/twin' "$T/diff" && fail "a second name: $(cat "$T/diff")"
ws apply "$id" >/dev/null || fail "a second name is not applied: $(ws diff "$id")"
{ [ "$W/a/b/one" -ef "$W/a/second" ] && [ "$W/a/b/x" -ef "$W/a/second" ]; } ||
	fail "applied: $(ls -li "$W/a" "$W/a/b")"
discard_all

# While names are made and removed, nothing that another process writes is lost.
fresh
# shellcheck disable=SC2016 # the program's shell expands it
cow -- /bin/sh -c '(i=0; while [ $i -lt 300 ]; do echo $i >>one; i=$((i + 1)); done) &
	i=0; while [ $i -lt 300 ]; do ln one l$i 2>/dev/null; [ $((i % 3)) = 0 ] && mv -f l$i a/b/m 2>/dev/null
	i=$((i + 1)); done; wait; wc -l <one; rm -f l* a/b/m; tail -n 1 one'
holds "a race" '.stdout == "301\n299\n"'
discard_all

# What an overlay has only copied is no change. What was written, or given an attribute, is one, with any time.
fresh
picture "$W" >"$T/before"
# shellcheck disable=SC2016 # the program's shell expands it
cow -- /bin/sh -c ': >>one; exec 3<>a/b/three; touch -r a/two time; printf T | dd of=a/two conv=notrunc 2>/dev/null
	touch -r time a/two; rm time; [ ! -x /usr/bin/python3 ] || python3 -c "import os
os.setxattr(\"a/b/three\", b\"user.x\", b\"y\")" 2>/dev/null && echo set'
holds "only copied" '([.changes[].path | select(endswith("/w/a/two"))] | length) == 1 and
	([.changes[].path | select(endswith("/w/a/b/three"))] | length) == (if .stdout == "set\n" then 1 else 0 end) and
	([.changes[].path | select(endswith("/w/one"))] | length) == 0'
picture "$W" | cmp -s - "$T/before" || fail "only copied: $(picture "$W" | diff "$T/before" -)"
discard_all

# The supervisor is killed while it copies a file for link(2): nothing of that is in a diff.
head -c 64M /dev/zero | tr '\0' x >"$W/large"
killed="not killed in the middle: $by"
kill_linking() # leaves $note if it was killed while there was a temporary name
{
	"$CALLGATE" run --cow -q --profile minimal -w "$W" -r /usr -x /usr/bin -- /usr/bin/ln large linked 2>/dev/null &
	runner=$!
	until compgen -G "$TMPDIR/callgate-*/workspaces/*/0/upper/.callgate-link" >/dev/null; do
		kill -0 "$runner" 2>/dev/null || break
	done
	kill -KILL "$runner"
	wait "$runner" 2>/dev/null
	while [ -n "$(ws list --json | jq -r 'select(.in_use).id')" ]; do sleep 0.01; done
	note=$(compgen -G "$TMPDIR/callgate-*/workspaces/*/0/temporary")
}
for _ in {1..20}; do
	[ "$by" = overlay ] || break
	kill_linking
	id=$(ws list --json | jq -r .id)
	ws diff "$id" >"$T/out" 2>&1
	[ $? -lt 2 ] || fail "diff after a kill: $(cat "$T/out")"
	grep -q callgate-link "$T/out" && fail "left by a run that was killed: $(cat "$T/out")"
	[ ! -e "$note" ] || fail "left by a run that was killed: the note"
	discard_all
	[ -z "$note" ] || killed="killed in the middle"
	[ -z "$note" ] || break
done

# Of what is noted, what is in a directory that the program has closed stays, with its note.
cow -- /bin/sh -c 'mkdir -p c/.callgate-link d/.callgate-link; chmod 0 c'
id=$(jq -r .workspace.id "$T/result")
note=$(echo "$TMPDIR"/callgate-*/workspaces/"$id"/0)/temporary
for dir in c d; do
	printf %s "$dir/.callgate-link" >"$note"
	ws diff "$id" >"$T/out" 2>&1 # which cannot say what is in c
	grep -qx 'A  d/' "$T/out" || fail "diff with a note of $dir: $(cat "$T/out")"
	[ ! -e "$note" ] || { [ $dir = c ] && [ "$(id -u)" != 0 ]; } || fail "the note of $dir stays"
	grep -q "$dir/.callgate-link" "$T/out" && [ $dir = d ] && fail "what was noted stays: $(cat "$T/out")"
done
discard_all
# The next run removes the scratch space of what was killed, when all its processes are gone.
for _ in {1..50}; do
	cow -- /bin/true
	compgen -G "$TMPDIR/callgate-*/run-*" >/dev/null || break
done
discard_all
echo "$killed"
