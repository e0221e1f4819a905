#!/bin/bash
# callgate ws apply that is interrupted, or whose output or disk fails, and the ways that end it: ws recover, also when
# the directory is not there any more, or is another one.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/workspace-lib.sh"
need jq strace
W=$T/w
strace -o /dev/null true 2>/dev/null || skip "strace may trace nothing here"

says() # STATUS TEXT VERB ARGUMENT…: of callgate ws
{
	local expected=$1 text=$2 status=0
	shift 2
	ws "$@" >"$T/out" 2>&1 || status=$?
	[ $status = "$expected" ] || fail "ws $*: status $status, not $expected: $(cat "$T/out")"
	[ -z "$text" ] || grep -qF -- "$text" "$T/out" || fail "ws $*: not said: $text: $(cat "$T/out")"
}

play() # [COMMAND]: a run in a new directory; the workspace is $id
{
	rm -rf "$W"
	mkdir -p "$W/d"
	for i in 1 2 3; do echo "old $i" >"$W/d/f$i"; done
	: >"$T/before"
	until : >"$T/now" && [ "$T/now" -nt "$T/before" ]; do :; done
	# shellcheck disable=SC2016 # the program's shell expands it
	cg run --json "${WORKSPACE_COW:---cow}" --profile minimal -w "$W" -r /usr -x /usr/bin -- /bin/sh -c \
		"${1:-for f in d/*; do echo new >\$f; done}" >"$T/result" 2>"$T/err"
	id=$(jq -r '.workspace.id // empty' "$T/result")
	ws diff "$id" >/dev/null 2>&1 # makes the layer of a copy
	journal=$(echo "$TMPDIR"/callgate-*/workspaces/"$id")/journal
}

interrupt() # OPTION…: an apply, which is killed when d/f2 is to get its name
{
	strace -qq -o /dev/null -e trace=renameat2,renameat -e inject=renameat2,renameat:signal=KILL:when=2 \
		"$CALLGATE" ws apply "$@" "$id" >/dev/null 2>&1 &
	wait $! 2>/dev/null # without bash's message
	[ -e "$W/d/.callgate-$id" ] || fail "not interrupted: $(ls -laR "$W")"
}

# The directory is deleted.
play
interrupt
rm -rf "$W"
says 125 "callgate ws recover --abandon $id" recover "$id"
says 125 'ws recover' discard "$id"
says 0 "may be left in what was $W: d/.callgate-$id" recover --abandon "$id"
says 0 '' discard "$id"

# Another one has its place: nothing is done there. It comes back.
play
interrupt
mv "$W" "$T/moved"
mkdir -p "$W/d"
says 125 'another directory' recover "$id"
grep -q 'steps were done' "$T/out" && fail "recovered another directory: $(cat "$T/out")"
[ -e "$journal" ] || fail "another directory: the journal is gone"
rmdir "$W/d" "$W"
mv "$T/moved" "$W"
says 0 'interrupted at d/f2' recover --abandon "$id"
[ -z "$(find "$W" -name '.callgate-*')" ] || fail "left: $(ls -laR "$W")"
says 0 '' apply --theirs "$id"
says 0 '' discard "$id"

# With --theirs, the apply itself was to another one.
play
mv "$W" "$T/moved"
cp -r "$T/moved" "$W"
interrupt --theirs
says 0 'interrupted at d/f2' recover "$id"
[ -z "$(find "$W" -name '.callgate-*')" ] || fail "left: $(ls -laR "$W")"
says 0 '' discard "$id"
rm -rf "$T/moved"

# A journal that cannot be read stays.
play
interrupt
strace -qq -o /dev/null -P "$journal" -e trace=read -e inject=read:error=EIO "$CALLGATE" ws recover "$id" \
	>"$T/out" 2>&1
[ $? = 125 ] || fail "recovered by a journal that cannot be read: $(cat "$T/out")"
[ -e "$journal" ] || fail "a journal that cannot be read is removed"
says 0 'interrupted at d/f2' recover "$id"
says 0 '' discard "$id"

# Nobody reads what it says: all is applied.
# shellcheck disable=SC2016 # the program's shell expands it
play 'echo x >Makefile; for f in d/*; do echo new >$f; done; echo new >new'
(sleep 0.3 && exec "$CALLGATE" ws apply "$id" 2>&1) | true
[ "$(cat "$W"/d/* "$W/new" | sort -u)" = new ] || fail "no reader: $(ls -lR "$W")"
[ ! -e "$journal" ] || fail "no reader: the journal stays"
says 0 '' discard "$id"

# What was applied cannot be written to the disk, or the journal cannot be removed.
for inject in syncfs:error=EIO unlinkat:error=EROFS; do
	play 'echo new >new'
	strace -qq -o /dev/null -e trace="${inject%%:*}" -e inject=$inject \
		"$CALLGATE" ws apply --json "$id" >"$T/json" 2>"$T/err"
	[ $? = 125 ] || fail "$inject: status 0: $(cat "$T/err")"
	grep -q 'callgate ws recover ends it' "$T/err" || fail "$inject: not said: $(cat "$T/err")"
	result=$(jq -r .result "$T/json")
	[ "$result" = unknown ] || [[ $inject == unlinkat* && $result = applied ]] || fail "$inject: $(cat "$T/json")"
	says 0 '' recover "$id"
	says 0 '' apply --theirs "$id"
	says 0 '' discard "$id"
done
