#!/bin/bash
# What is added, removed or set in a directory outside, also by ws apply of another workspace, is no conflict of other
# entries in it. Another directory in its place is one.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/workspace-lib.sh"
need jq
W=$T/w
change='echo edited >>d/x; rm d/y; mv d/e/z d/e/zz; echo edited >>d/e/zz; echo new >d/new; mv f/v d/v; mkdir d/m
	echo edited >>d/e/q; ln d/l d/k; echo edited >>d/k'

tick() # until a change has a later time
{
	later
}

play() # COMMAND: the workspace is $id
{
	run_in_workspace "$1"
}

fresh()
{
	rm -rf "$W" "$T/other" "$T/was"
	mkdir -p "$W/d/e" "$W/f"
	for name in d/x d/y d/l d/e/z d/e/q f/v top; do echo "old $name" >"$W/$name"; done
	cp -a "$W/d" "$T/other"
	tick
}

is_done() # WHAT: the change is there
{
	{ [ "$(cat "$W/d/x")" = $'old d/x\nedited' ] && [ "$(cat "$W/d/e/zz")" = $'old d/e/z\nedited' ] &&
		[ "$(cat "$W/d/e/q" "$W/d/new" "$W/d/v")" = $'old d/e/q\nedited\nnew\nold f/v' ] &&
		[ "$(cat "$W/d/k")" = $'old d/l\nedited' ] && [ -d "$W/d/m" ] && [ ! -e "$W/d/y" ] &&
		[ ! -e "$W/d/e/z" ] && [ ! -e "$W/f/v" ]; } || fail "$1: $(ls -R "$W") $(cat "$T/out" "$T/said")"
}

# Two workspaces of one directory that change it in other places.
for first in 'echo one >d/one' 'rm d/b; echo one >d/e/one; touch -d 2001-01-01 d d/e' 'mkdir d/one; mv top d/one/top' \
	'echo one >>d/b' 'mv d/b d/e/b; echo one >>d/e/b' 'chmod 711 d d/e; chmod 750 f'; do
	fresh
	echo b >"$W/d/b"
	tick
	play "$first"
	one=$id
	play "$change"
	two=$id
	id=$one
	applies 0 "$first"
	id=$two
	! ws diff "$id" | grep conflict || fail "$first: a conflict in ws diff"
	applies 0 "the other of $first"
	is_done "the other of $first"
	ws diff "$id" || fail "$first: left: $(ws diff "$id")"
	discard_all
done

# So it is with other changes outside.
for outside in 'echo me >d/me; rm d/b' 'touch -d 2001-01-01 d d/e f' 'touch d d/e' 'mkdir d/e/me; rmdir d/e/me' \
	'mv d t; mv t d' 'chmod 711 d; chmod 750 d/e'; do
	fresh
	echo b >"$W/d/b"
	tick
	play "$change"
	(cd "$W" && eval "$outside")
	applies 0 "$outside"
	is_done "$outside"
	discard_all
done

# Another directory, with the names and times of the old one, is a conflict; what was removed or changed there is, too.
for outside in 'mv d ../was; mv ../other d' 'mv d/e ../was; mv ../other/e d' 'rm -r d; mv ../other d'; do
	fresh
	play "$change"
	(cd "$W" && eval "$outside")
	applies 3 "$outside"
	grep -q 'd/e/q: conflict' "$T/said" || fail "$outside: no conflict: $(cat "$T/said")"
	[ "$(cat "$W/d/e/q" "$W/d/e/z")" = $'old d/e/q\nold d/e/z' ] || fail "$outside: $(ls -R "$W")"
	applies 0 "$outside, theirs" --theirs
	is_done "$outside, theirs"
	discard_all
done
for outside in 'rm d/x d/e/z' 'echo me >>d/x; echo me >d/e/z' 'mv d/x d/mine; mv d/e/z d/e/mine'; do
	fresh
	play 'echo edited >>d/x; mv d/e/z d/e/zz; echo edited >>d/e/zz'
	(cd "$W" && eval "$outside")
	find "$W" -type f -exec md5sum {} + | sort >"$T/files"
	applies 3 "$outside"
	grep -q 'd/x: conflict' "$T/said" || fail "$outside: no conflict: $(cat "$T/said")"
	grep -q 'd/e/zz\?: conflict' "$T/said" || fail "$outside: no conflict: $(cat "$T/said")"
	md5sum --quiet -c "$T/files" || fail "$outside: changed"
	discard_all
done

# A new directory may have got the inode number of the old one.
fresh
play 'echo new >d/new; echo new >d/e/new'
was=$(stat -c %i "$W/d")
rm -r "$W/d"
for ((i = 0; i < 1000; i++)); do
	mkdir "$W/t$i"
	[ "$(stat -c %i "$W/t$i")" != "$was" ] || mv "$W/t$i" "$W/d"
	[ ! -d "$W/d" ] || break
done
if [ -d "$W/d" ]; then # on tmpfs, all numbers are new ones
	mkdir "$W/d/e"
	applies 3 "a new directory with the old number"
	{ [ ! -e "$W/d/new" ] && [ ! -e "$W/d/e/new" ]; } || fail "put into a new directory: $(ls -R "$W/d")"
	applies 0 "a new directory, theirs" --theirs
fi
discard_all

# The mode of a directory is what both have set; else what one has.
fresh
play 'chmod 750 d; echo edited >>d/x; echo edited >>d/e/q'
chmod 711 "$W/d" "$W/d/e"
applies 3 "both modes"
grep -q ' d: conflict' "$T/said" || fail "both modes: $(cat "$T/said")"
! grep -q 'd/e: conflict' "$T/said" || fail "both modes: $(cat "$T/said")"
[ "$(stat -c %a "$W/d" "$W/d/e" | xargs)" = '711 711' ] || fail "both modes: $(ls -lR "$W")"
applies 0 "both modes, theirs" --theirs
[ "$(stat -c %a "$W/d" "$W/d/e" | xargs)" = '750 711' ] || fail "both modes, theirs: $(ls -lR "$W")"
discard_all

# A file that the program replaced whole, and that was removed outside, is one as well.
fresh
play 'echo new >t; mv t top'
rm "$W/top"
applies 3 "replaced and removed"
[ ! -e "$W/top" ] || fail "replaced and removed: made again"
discard_all
exit $live_failed
