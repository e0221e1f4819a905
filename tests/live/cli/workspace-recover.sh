#!/bin/bash
# callgate ws apply that is interrupted, or whose output or disk fails, and the ways that end it: ws recover, also when
# the directory is not there any more, or is another one, and when something in it was changed since: that stays.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/workspace-lib.sh"
need jq strace
W=$T/w
strace -o /dev/null true 2>/dev/null || skip "strace may trace nothing here"

play() # [COMMAND [COMMAND]]: a run in a new directory, and what is done there before; the workspace is $id
{
	rm -rf "$W"
	mkdir -p "$W/d"
	for i in 1 2 3; do echo "old $i" >"$W/d/f$i"; done
	(cd "$W" && eval "${2:-:}")
	later
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

# ---- replacements ----
# A file and a directory have each other's place. After the interruption, the user works with what has the name.

stop() # INJECT [COMMAND [COMMAND]]: an apply of what the command does, which is killed; the second as of play
{
	play "${2:-rm -r d; echo new >d}" "${3:-}"
	strace -qq -o /dev/null -e trace="${1%%:*}" -e inject="$1" "$CALLGATE" ws apply "$id" >/dev/null 2>&1 &
	wait $! 2>/dev/null # without bash's message
	[ -e "$journal" ] || fail "$1: not interrupted: $(ls -laR "$W")"
}

left() # COUNT WHAT: so many entries have a temporary name
{
	[ "$(find "$W" -name '.callgate-*' | wc -l)" = "$1" ] || fail "$2: left: $(ls -laR "$W")"
}
to_file=unlinkat:signal=KILL:when=2 # one of d/ is removed
to_dir=('unlinkat:signal=KILL:when=1' 'rm d/f1; mkdir d/f1; echo y >d/f1/in') # none is

# Nothing was changed since: the old one comes back, without what was removed.
stop $to_file
[ -f "$W/d" ] || fail "to a file: not exchanged: $(ls -laR "$W")"
says 0 'interrupted at d' recover "$id"
[ "$(cat "$W"/d/* | wc -l)" = 2 ] || fail "to a file: $(ls -laR "$W")"
left 0 "to a file"
says 0 '' apply --theirs "$id"
[ "$(cat "$W/d")" = new ] || fail "to a file, again: $(ls -laR "$W")"
says 0 '' discard "$id"
stop "${to_dir[@]}"
[ -d "$W/d/f1" ] || fail "to a directory: not exchanged: $(ls -laR "$W")"
says 0 'interrupted at d/f1' recover "$id"
[ "$(cat "$W/d/f1")" = "old 1" ] || fail "to a directory: $(ls -laR "$W")"
left 0 "to a directory"
says 0 '' discard "$id"

# The next apply takes the old one, by its content and attributes. With others it is a conflict, also of the same time.
for change in : 'cp -p d/f1 x && mv x d/f1' 'echo mine >d/f1' 'touch d/f1' 'chmod 600 d/f1' 'echo OLD 1 >d/f1' \
	'setfattr -n user.x -v 2 d/f1'; do
	[[ $change != setfattr* ]] || setfattr -n user.y -v 1 "$T/now" 2>/dev/null || continue
	stop "${to_dir[@]}"
	says 0 'interrupted at d/f1' recover "$id"
	touch -r "$W/d/f1" "$T/time"
	(cd "$W" && eval "$change") || fail "$change"
	[[ $change != *OLD* ]] || touch -r "$T/time" "$W/d/f1"
	case $change in
	: | cp*) says 0 '' apply "$id" ;;
	*) says 3 'd/f1: conflict' apply "$id" ;;
	esac
	case $change in
	: | cp*) [ "$(cat "$W/d/f1/in")" = y ] || fail "$change: not applied: $(ls -laR "$W")" ;;
	*) [ -f "$W/d/f1" ] || fail "$change: replaced: $(ls -laR "$W")" ;;
	esac
	says 0 '' discard "$id"
done
stop unlinkat:signal=KILL:when=1 'rm d/f1; mkdir d/f1; echo y >d/f1/in' 'ln -sf there d/f1'
says 0 'interrupted at d/f1' recover "$id"
[ "$(readlink "$W/d/f1")" = there ] || fail "a link: $(ls -laR "$W")"
says 0 '' apply "$id"
says 0 '' discard "$id"

# What has the name is not the apply's, or was changed: both stay.
for change in 'rm d; mkdir -p d/mine; echo mine >d/mine/f' 'echo mine >>d' \
	'rm d; echo mine >d; touch -d 2001-02-03 d'; do
	stop $to_file
	(cd "$W" && eval "$change")
	says 3 "$W/d, $W/.callgate-$id." recover "$id"
	grep -rqx mine "$W/d" || fail "$change: lost: $(ls -laR "$W")"
	[ "$(cat "$W"/.callgate-*/* | wc -l)" = 2 ] || fail "$change: the old one is lost: $(ls -laR "$W")"
	says 0 '' discard "$id"
done
for change in 'echo mine >d/f1/mine' 'echo mine >>d/f1/in' 'rm -r d/f1; echo mine >d/f1' \
	'mkdir -p d/f1/mine/.callgate-x'; do
	stop "${to_dir[@]}"
	(cd "$W" && eval "$change")
	says 3 "$W/d/f1, $W/d/.callgate-$id." recover "$id"
	[ "$(cat "$W"/d/.callgate-*)" = "old 1" ] || fail "$change: the old one is lost: $(ls -laR "$W")"
	grep -rqx mine "$W/d/f1" || [ -d "$W/d/f1/mine" ] || fail "$change: lost: $(ls -laR "$W")"
	says 0 '' discard "$id"
done

# What has the name is removed: the old one gets it.
stop $to_file
rm "$W/d"
says 0 '' recover "$id"
[ "$(cat "$W"/d/* | wc -l)" = 2 ] || fail "removed, to a file: $(ls -laR "$W")"
left 0 "removed, to a file"
says 0 '' discard "$id"
stop "${to_dir[@]}"
rm -r "$W/d/f1"
says 0 '' recover "$id"
[ "$(cat "$W/d/f1")" = "old 1" ] || fail "removed, to a directory: $(ls -laR "$W")"
left 0 "removed, to a directory"
says 0 '' discard "$id"

# The recovery is interrupted as well, or what it did cannot be written to the disk.
for inject in renameat2:signal=KILL:when=1 unlinkat:signal=KILL:when={1,2,3} renameat2:error=EIO:when=1 \
	unlinkat:error=EIO:when={1,2,3} syncfs:error=EIO; do
	stop "${to_dir[@]}"
	strace -qq -o /dev/null -e trace="${inject%%:*}" -e inject="$inject" \
		"$CALLGATE" ws recover "$id" >"$T/out" 2>&1 &
	wait $! 2>/dev/null
	[ -e "$journal" ] || fail "recover, $inject: the journal is gone: $(cat "$T/out")"
	says 0 '' recover "$id"
	[ "$(cat "$W/d/f1")" = "old 1" ] || fail "recover, $inject: $(ls -laR "$W")"
	left 0 "recover, $inject"
	says 0 '' discard "$id"
done

# A file in the new directory is half-made: it is removed.
for inject in fsync:signal=KILL:when=1 fsync:signal=KILL:when=2 renameat2:signal=KILL:when=1; do
	stop $inject 'rm d/f1; mkdir d/f1; echo y >d/f1/in; echo z >d/f1/k'
	says 0 '' recover "$id"
	[ "$(cat "$W/d/f1")" = "old 1" ] || fail "$inject: $(ls -laR "$W")"
	left 0 $inject
	says 0 '' discard "$id"
done
stop fsync:signal=KILL:when=1
says 0 '' recover "$id"
left 0 "half-made file"
[ "$(cat "$W"/d/* | wc -l)" = 3 ] || fail "half-made file: $(ls -laR "$W")"
says 0 '' discard "$id"

# A temporary name is taken: the apply tells which, and recover leaves alone what has it.
# shellcheck disable=SC2016 # eval expands it
for make in 'mkdir $name; echo mine >$name/f' 'echo mine >$name'; do
	play 'rm -r d; echo new >d; echo new >other'
	name=$W/.callgate-$id.1
	eval "$make"
	strace -qq -o /dev/null -e trace=syncfs -e inject=syncfs:signal=KILL:when=1 \
		"$CALLGATE" ws apply "$id" >/dev/null 2>"$T/err" &
	wait $! 2>/dev/null
	grep -qF "has the name of ours, ${name##*/}" "$T/err" || fail "taken: not told: $(cat "$T/err")"
	[ -e "$journal" ] || fail "taken: not interrupted"
	says 0 '' recover "$id"
	grep -rqx mine "$name" || fail "taken: lost: $(ls -laR "$W")"
	[ "$(cat "$W"/d/* | wc -l)" = 3 ] || fail "taken: $(ls -laR "$W")"
	says 0 '' discard "$id"
done

# A directory has the temporary name of a file: it stays. A step fails: --abandon tells it, and ends the apply.
play
interrupt
rm "$W/d/.callgate-$id"
mkdir "$W/d/.callgate-$id"
says 3 "$W/d/.callgate-$id: nothing is removed" recover "$id"
[ -d "$W/d/.callgate-$id" ] || fail "a directory is removed"
says 0 '' discard "$id"
play
interrupt
for verb in 'recover' 'recover --abandon'; do
	# shellcheck disable=SC2086 # words
	strace -qq -o /dev/null -e trace=unlinkat -e inject=unlinkat:error=EROFS:when=1 \
		"$CALLGATE" ws $verb "$id" >"$T/out" 2>&1
	status=$?
	grep -qF "$W/d/.callgate-$id may be left: Read-only" "$T/out" || fail "$verb: not said: $(cat "$T/out")"
	case $verb in
	recover) [ $status = 125 ] && grep -q -- '--abandon' "$T/out" ;;
	*) [ $status = 3 ] && [ ! -e "$journal" ] ;;
	esac || fail "$verb: status $status: $(cat "$T/out")"
done
says 0 '' discard "$id"

# That a new entry is complete is on the disk before an old one is removed.
play 'rm -r d; echo new >d'
strace -qq -o "$T/trace" -e trace=fdatasync,write,syncfs,renameat2 "$CALLGATE" ws apply "$id" >/dev/null 2>&1
grep -A1 'write(.*"done' "$T/trace" | grep -q fdatasync || fail "the journal is not on the disk: $(cat "$T/trace")"
says 0 '' discard "$id"
