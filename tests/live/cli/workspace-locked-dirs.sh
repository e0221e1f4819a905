#!/bin/bash
# callgate ws apply changes entries of directories that their owner may not write, such as those of Go's module cache,
# and gives those directories back the mode and time that the program has left them. So does ws recover after a crash.
# What the program has closed to its own user is read nevertheless.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/workspace-lib.sh"
need jq
W=$T/w

open_all() # for rm(1)
{
	[ ! -e "$W" ] || chmod -R u+rwX "$W"
}

fresh() # COMMAND: makes the tree, and what is done there
{
	open_all
	rm -rf "$W"
	mkdir -p "$W/d/sub"
	for name in f d/a d/b d/sub/c; do echo "old $name" >"$W/$name"; done
	chmod 555 "$W/d"
	(cd "$W" && eval "$1")
	later
}

play() # COMMAND [COMMAND]: in a fresh tree, and what is done there before; the workspace is $id
{
	fresh "${2:-:}"
	cg run --json "${WORKSPACE_COW:---cow}" --profile extended -w "$W" -r /usr -x /usr/bin -- /bin/sh -c "$1" \
		>"$T/result" 2>"$T/err"
	id=$(jq -r '.workspace.id // empty' "$T/result")
	[ "$(jq .exit_code "$T/result")" = 0 ] || fail "the program: $1: $(cat "$T/result" "$T/err")"
}

has_mode() # WHAT PATH MODE
{
	local path=$W
	[ "$2" = . ] || path=$W/$2
	[ "$(stat -c %a "$path")" = "$3" ] || fail "$1: $2 has mode $(stat -c %a "$path"), not $3"
}

ends() # WHAT: nothing is left to be applied
{
	ws diff "$id" >"$T/diff" 2>&1 || fail "$1: $(cat "$T/diff")"
	[ -z "$(find "$W" -name '.callgate-*')" ] || fail "$1: left: $(find "$W")"
	ws discard "$id" || fail "$1: discard"
}

# ---- what is in it is changed ----
play 'chmod 755 d; echo x >>d/a; rm d/b; echo new >d/new; touch -d 2001-02-03 d; chmod 555 d'
applies 0 changed
has changed d/a $'old d/a\nx'
[ ! -e "$W/d/b" ] || fail "not removed"
has_mode changed d 555
[ "$(stat -c %y "$W/d" | cut -c 1-10)" = 2001-02-03 ] || fail "the time: $(stat "$W/d")"
ends changed

# A part of it, and the mode of a directory below one that stays.
play 'chmod 755 d; echo x >>d/a; rm d/b; chmod 700 d/sub; echo x >>d/sub/c; chmod 555 d'
applies 0 part d/a
has part d/a $'old d/a\nx'
has part d/b 'old d/b'
has_mode part d 555
applies 0 rest
has rest d/sub/c $'old d/sub/c\nx'
has_mode rest d 555
has_mode rest d/sub 700
ends rest

# The program leaves it writable.
play 'chmod 755 d; echo x >>d/a; rm d/b'
applies 0 writable
has writable d/a $'old d/a\nx'
[ ! -e "$W/d/b" ] || fail "writable: not removed"
has_mode writable d 755
ends writable

# It gets an extended attribute, for which setxattr(2) asks for the right to write.
if command -v setfattr >/dev/null; then
	for mode in 555 755 700; do
		play "chmod 755 d; setfattr -n user.a -v x d; chmod $mode d"
		applies 0 "an attribute, $mode"
		has_mode "an attribute, $mode" d $mode
		[ "$(getfattr --absolute-names --only-values -n user.a "$W/d")" = x ] ||
			fail "no attribute: $(getfattr -d "$W/d")"
		ends "an attribute, $mode"
	done
fi

# It is removed, or has become a file; and a file has become such a directory.
play 'chmod 755 d; rm -r d'
applies 0 removed
[ ! -e "$W/d" ] || fail "removed: $(ls -lR "$W/d")"
ends removed
play 'chmod 755 d; rm -r d; echo f >d'
applies 0 'a file'
has 'a file' d f
ends 'a file'
play 'rm f; mkdir -p f/s; echo y >f/s/y; chmod 555 f/s f'
applies 0 'a directory'
has_mode 'a directory' f 555
has_mode 'a directory' f/s 555
ends 'a directory'

# One of its entries is a conflict: all of it stays, with its mode.
play 'chmod 755 d; rm -r d; echo f >d'
echo outside >>"$W/d/a"
applies 3 'a conflict in it'
has 'a conflict in it' d/a $'old d/a\noutside'
has_mode 'a conflict in it' d 555
ws discard "$id" || fail "discard"

# The directory of -w itself.
play 'chmod 755 .; echo x >>f; echo new >new; chmod 555 .' 'chmod 555 .'
applies 0 'of -w'
has 'of -w' f $'old f\nx'
has_mode 'of -w' . 555
ends 'of -w'

# ---- what the program closes to its own user ----
play 'chmod 755 d; echo x >>d/a; echo x >>d/sub/c; echo x >>f; echo n >n; mkdir m; echo n >m/n
	chmod 0 d/a d/sub/c n m/n; chmod 444 d/sub; chmod 0 d m'
[ "$(ws diff "$id" f 2>&1)" = 'M  f  content, time' ] || fail "diff: $(ws diff "$id" 2>&1)"
applies 0 'closed, a part' f
has 'closed, a part' f $'old f\nx'
[ "$(ws diff --json "$id" d | jq -c 'select(.path == "d") | .new.mode // .mode')" != '"0555"' ] ||
	fail "the mode: $(ws diff --json "$id" d)"
applies 0 closed
for path in d m; do
	has_mode closed $path 0
	chmod 755 "$W/$path"
done
has_mode closed d/sub 444
chmod 755 "$W/d/sub"
for path in d/a d/sub/c n m/n; do
	has_mode closed $path 0
	chmod 600 "$W/$path"
done
has closed d/a $'old d/a\nx'
has closed d/sub/c $'old d/sub/c\nx'
has closed m/n n
ws discard "$id" || fail "discard"
play 'echo x >>f; chmod 0 .; exit 0'
applies 0 'closed -w'
has_mode 'closed -w' . 0
chmod 755 "$W"
has 'closed -w' f $'old f\nx'
ws discard "$id" || fail "discard"
# What was applied so, and what the directory has closed already, is opened for the comparison.
play 'chmod 755 d; echo x >>d/a; chmod 0 d; echo n >n'
applies 0 'closed there, a part' d
has_mode 'closed there, a part' d 0
applies 0 'closed there' n
applies 0 'closed there, all'
has_mode 'closed there' d 0
[ "$(id -u)" = 0 ] || [[ $(ws diff "$id" 2>&1) == *'d: cannot be compared: Permission denied: '*chmod* ]] ||
	fail "diff: $(ws diff "$id" 2>&1)"
chmod 755 "$W/d"
has 'closed there' d/a $'old d/a\nx'
ws discard "$id" || fail "discard"
# What was closed before the run. Where there is neither an overlay nor a user namespace, as in a container, the owner
# could read it only after chmod(2), which the directory would show; so nothing is run.
fresh 'chmod 0 d'
reads_closed=1
cg run --json "${WORKSPACE_COW:---cow}" --profile minimal -w "$W" -r /usr -x /usr/bin -- /bin/true >"$T/result" ||
	reads_closed=
if [ -n "$reads_closed" ]; then
	ws discard "$(jq -r .workspace.id "$T/result")" || fail "closed before: discard"
	play 'chmod 700 d d/sub; echo x >>d/sub/c; rm d/b; chmod 444 d/sub; chmod 0 d' 'chmod 0 d/sub d'
	applies 0 'closed before'
	has_mode 'closed before' d 0
	chmod 755 "$W/d"
	has_mode 'closed before' d/sub 444
	chmod 755 "$W/d/sub"
	has 'closed before' d/sub/c $'old d/sub/c\nx'
	[ ! -e "$W/d/b" ] || fail "closed before: not removed"
	ws discard "$id" || fail "discard"
else
	jq -e '.error.message | test("\\./d cannot be read: Permission denied")' "$T/result" >/dev/null ||
		fail "closed before: $(cat "$T/result")"
	has_mode "closed before" d 0
	[ -z "$(ws list)" ] || fail "closed before: left $(ws list)"
fi
# A file that was applied so is as the layer has it.
play 'chmod 0 f; echo x >n'
applies 0 'a closed file' f
applies 0 'a closed file, and the rest'
ends 'a closed file'

# ---- a crash ----
strace -o /dev/null true 2>/dev/null || skip "strace may trace nothing here"
for at in 1 2; do
	play 'chmod 755 d; echo x >>d/a; echo x >>d/b; rm d/sub/c; echo x >>d/sub/n; chmod 550 d'
	ws diff "$id" >/dev/null # makes the layer of a copy
	strace -qq -o /dev/null -e trace=renameat2,renameat -e inject=renameat2,renameat:signal=KILL:when=$at \
		"$CALLGATE" ws apply "$id" >/dev/null 2>&1 &
	wait $! 2>/dev/null # without bash's message
	[ "$(id -u)" = 0 ] || has_mode "crash $at" d 755
	ws recover "$id" >"$T/out" 2>&1 || fail "crash $at: $(cat "$T/out")"
	has_mode "crash $at" d 555
	applies 0 "after crash $at" --theirs
	has_mode "after crash $at" d 550
	has "after crash $at" d/b $'old d/b\nx'
	ends "after crash $at"
done
# Before or after anything was changed, also while the modes are set.
if [ "$(id -u)" != 0 ]; then
	for at in 1 2 3; do
		play 'chmod 755 d; echo x >>d/a; chmod 555 d'
		ws diff "$id" >/dev/null
		strace -qq -o "$T/trace" -e trace=chmod,fchmodat -e inject=chmod,fchmodat:signal=KILL:when=$at \
			"$CALLGATE" ws apply "$id" >/dev/null 2>&1 &
		wait $! 2>/dev/null
		grep -q KILL "$T/trace" || fail "crash at chmod $at: not killed"
		ws recover "$id" >"$T/out" 2>&1 || fail "crash at chmod $at: $(cat "$T/out")"
		has_mode "crash at chmod $at" d 555
		applies 0 "after crash at chmod $at"
		has "after crash at chmod $at" d/a $'old d/a\nx'
		ends "after crash at chmod $at"
	done
	# What was opened for the comparison is closed again.
	for at in ${reads_closed:+1 2}; do
		play 'chmod 700 d; echo x >>d/a; chmod 0 d' 'chmod 0 d'
		ws diff "$id" >/dev/null 2>&1
		strace -qq -o "$T/trace" -e trace=chmod,fchmodat -e inject=chmod,fchmodat:signal=KILL:when="$at" \
			"$CALLGATE" ws apply "$id" >/dev/null 2>&1 &
		wait $! 2>/dev/null
		grep -q KILL "$T/trace" || fail "opened, crash $at: not killed"
		ws recover "$id" >"$T/out" 2>&1 || fail "opened, crash $at: $(cat "$T/out")"
		has_mode "opened, crash $at" d 0
		applies 0 "after crash $at, opened" --theirs
		has_mode "after crash $at, opened" d 0
		chmod 700 "$W/d"
		has "after crash $at, opened" d/a $'old d/a\nx'
		ws discard "$id" || fail "discard"
	done
fi
# The comparison is interrupted between noting the mode and opening the entry.
if [ "$(id -u)" != 0 ]; then
	play 'echo new >new; chmod 0 new; mkdir made; echo in >made/in; chmod 0 made'
	for at in 1 2; do
		strace -qq -o "$T/trace" -e trace=fdatasync -e inject=fdatasync:signal=KILL:when=1 \
			"$CALLGATE" ws diff "$id" >/dev/null 2>&1 &
		wait $! 2>/dev/null
		grep -q KILL "$T/trace" || fail "interrupted $at: not killed"
	done
	applies 0 interrupted
	has_mode interrupted new 0
	has_mode interrupted made 0
	chmod 700 "$W/new" "$W/made"
	has interrupted new new
	has interrupted made/in in
	ws discard "$id" || fail "interrupted: discard"
fi
# Making the layer of a copy fails, or is interrupted, after the directories of the copy were opened.
for inject in error=ENOSPC signal=KILL; do
	play 'mkdir -p made/in; echo in >made/in/in; chmod 0 made/in; chmod 100 made; echo x >>f; chmod 500 .'
	strace -qq -o /dev/null -e trace=renameat,renameat2 -e "inject=renameat,renameat2:$inject" \
		"$CALLGATE" ws diff "$id" >/dev/null 2>&1 &
	wait $! 2>/dev/null
	applies 0 "the layer, $inject"
	has_mode "the layer, $inject" . 500
	has_mode "the layer, $inject" made 100
	has_mode "the layer, $inject" made/in 0
	open_all
	has "the layer, $inject" made/in/in in
	ws discard "$id" || fail "the layer, $inject: discard"
done
# What was opened in the layer has the mode that the program has left also when the workspace was moved: its inode
# numbers are others then. (doc/workspaces.md)
play 'echo new >new; ln new linked; chmod 0 new; mkdir made; echo in >made/in; chmod 300 made; chmod 200 f'
ws diff "$id" >/dev/null
mkdir -p "$T/other"
mkdir -m 700 "$T/other/callgate-$(id -u)" "$T/other/callgate-$(id -u)/workspaces"
rmdir "$TMPDIR"/callgate-*/workspaces/"$id"/*/work/* 2>/dev/null # closed to its own user
cp -a "$TMPDIR"/callgate-*/workspaces/"$id" "$T/other/callgate-$(id -u)/workspaces" || fail "cp -a"
ws discard "$id" || fail "moved: discard"
TMPDIR=$T/other applies 0 moved
has_mode moved new 0
has_mode moved linked 0
has_mode moved made 300
has_mode moved f 200
TMPDIR=$T/other ws discard "$id" || fail "moved: discard"
# So it has when an older version has noted them, by inode numbers.
play 'echo new >new; chmod 0 new; mkdir made; echo in >made/in; chmod 300 made; chmod 200 f'
ws diff "$id" >/dev/null
for layer in "$TMPDIR"/callgate-*/workspaces/"$id"/0; do
	for entry in 'new 0' 'made 300' 'f 200'; do
		printf '\n%s %s\n' "$(stat -c %i "$layer/upper/${entry% *}")" "${entry#* }"
	done >"$layer/closed"
done
applies 0 older
has_mode older new 0
has_mode older made 300
has_mode older f 200
ws discard "$id" || fail "older: discard"
open_all
discard_all
[ -n "${WORKSPACE_COW:-}" ] || WORKSPACE_COW=--cow=copy bash "$0" || fail "by a copy"
exit $live_failed
