#!/bin/bash
# callgate ws apply, of directories that become files, and of files that become directories: whatever fails, and when it
# is killed, each is wholly the old or the new one; what is not the apply's to remove stays.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/workspace-lib.sh"
need jq strace
W=$T/w
strace -o /dev/null true 2>/dev/null || skip "strace may trace nothing here"

fresh() # makes the tree
{
	rm -rf "$W"
	mkdir -p "$W/d2f/k" "$W/d2l"
	for name in d2f/a d2f/k/b d2l/x f2d gone kept; do echo "old $name" >"$W/$name"; done
	later
}

play() # [COMMAND]: runs it in a fresh tree; the workspace is $id
{
	fresh
	cg run --json "${WORKSPACE_COW:---cow}" --profile minimal -w "$W" -r /usr -x /usr/bin -- /bin/sh -c \
		"${1:-$program}" >"$T/result" 2>"$T/err"
	id=$(jq -r '.workspace.id // empty' "$T/result")
	[ "$(jq .exit_code "$T/result")" = 0 ] || fail "the program: $(cat "$T/result" "$T/err")"
}
program='rm -r d2f; echo new >d2f; rm f2d; mkdir -p f2d/sub; echo y >f2d/in; ln f2d/in f2d/sub/z; chmod 700 f2d/sub
	mv d2l/x moved; rmdir d2l; ln -s moved d2l; rm gone; ln d2f other; echo >>kept'

content() # of a path: what the tree has at and below it
{
	(cd "$W" && find "$1" -printf '%p %y %m %l ' -type f -exec cat {} \; -o -printf '\n' 2>/dev/null | sort)
}

whole() # WHAT: each is wholly old or wholly new
{
	local name now
	for name in d2f d2l f2d gone; do
		now=$(content $name)
		[ "$now" = "${old[$name]}" ] || [ "$now" = "${new[$name]}" ] || fail "$1: $name is neither: $now"
	done
	{ [ -e "$W/d2l/x" ] || [ -e "$W/moved" ]; } || fail "$1: a renamed file is lost"
}

ends() # WHAT CALL: recovers, if it is to be, and applies the rest; removals may have been made in part
{
	ws recover "$id" >"$T/recovered" 2>&1 || fail "$1: recover: $(cat "$T/recovered")"
	[ -z "$(find "$W" -name '.callgate-*')" ] || fail "$1: left: $(find "$W" -name '.callgate-*')"
	[ "$2" = unlinkat ] || whole "$1, recovered"
	ws apply --theirs "$id" >/dev/null 2>"$T/said" || fail "$1: again: $(cat "$T/said")"
	[ "$(content .)" = "$all" ] || fail "$1: in the end: $(content . | diff - <(echo "$all"))"
	# Where a link fails, the file is copied.
	[[ $2 == @(linkat|renameat2) ]] || { [ "$W/f2d/in" -ef "$W/f2d/sub/z" ] && [ "$W/d2f" -ef "$W/other" ]; } ||
		fail "$1: hard links: $(ls -liR "$W")"
	ws discard "$id" || fail "$1: discard"
}

declare -A old new
fresh
for name in d2f d2l f2d gone; do old[$name]=$(content $name); done
play
strace -f -o "$T/trace" "$CALLGATE" ws apply "$id" >/dev/null 2>"$T/said" || fail "apply: $(cat "$T/said")"
all=$(content .)
for name in d2f d2l f2d gone; do new[$name]=$(content $name); done
[ "$(cat "$W/d2f" "$W/f2d/sub/z" "$W/d2l")" = $'new\ny\nold d2l/x' ] || fail "applied: $(ls -lR "$W")"
ends "nothing wrong" ""

# Each call fails once, and is once the last one.
for call in mkdirat fsync renameat renameat2 utimensat chmod fchmod symlinkat linkat fdatasync unlinkat; do
	count=$(grep -cE "^[0-9]+ +$call\(" "$T/trace")
	for ((n = 1; n <= count; n++)); do
		play
		strace -qq -o /dev/null -e trace=$call -e inject=$call:error=ENOSPC:when=$n \
			"$CALLGATE" ws apply "$id" >"$T/out" 2>"$T/said"
		status=$?
		[ $call = unlinkat ] || whole "$call $n fails"
		[ -z "$(find "$W" -name '*.base')" ] || fail "$call $n fails: a conflict: $(cat "$T/said")"
		[ $status != 0 ] || [ "$(content .)" = "$all" ] || fail "$call $n fails: status 0: $(content .)"
		grep -q 'nothing is deleted' "$T/said" && [ ! -e "$W/gone" ] && fail "$call $n fails: deleted"
		[ $status = 0 ] || [ -z "$(find "$W" -name '.callgate-*')" ] || grep -q 'ws recover' "$T/said" ||
			fail "$call $n fails: left: $(find "$W") $(cat "$T/said")"
		ends "$call $n fails" $call
	done
	[ $call = linkat ] || [ $call = symlinkat ] && continue
	for ((n = 1; n <= count; n++)); do
		play
		strace -qq -o /dev/null -e trace=$call -e inject=$call:signal=KILL:when=$n \
			"$CALLGATE" ws apply "$id" >"$T/out" 2>&1 &
		wait $! 2>/dev/null # without bash's message
		ends "killed at $call $n" $call
	done
done

# The file system cannot exchange two entries: the new one waits beside the old one until that has gone.
alone='rm -r d2f; echo new >d2f'
for inject in renameat2:error=EINVAL:when=1 renameat2:error=EINVAL; do
	play "$alone"
	ws diff "$id" >/dev/null # makes the layer of a copy
	more=()
	[ "${inject%:when=1}" != "$inject" ] || more=(-e inject=linkat:error=EIO)
	strace -qq -o /dev/null -e trace=renameat2,linkat -e "inject=$inject" "${more[@]}" \
		"$CALLGATE" ws apply "$id" >"$T/out" 2>"$T/said"
	status=$?
	[ ${#more[@]} != 0 ] || [ $status = 0 ] || fail "no exchange: $(cat "$T/said")"
	[ ${#more[@]} = 0 ] || [ $status = 125 ] || fail "no exchange, no renaming: $(cat "$T/said")"
	ws recover "$id" >/dev/null 2>&1 || fail "no exchange: recover"
	[ "$(cat "$W/d2f")" = new ] || fail "no exchange, $inject: $(ls -lR "$W")"
	ws discard "$id" || fail "no exchange: discard"
done

# It has no RENAME_NOREPLACE either, as NFS.
no_flags=(-e "trace=renameat2,unlinkat" -e inject=renameat2:error=EINVAL)
play
ws diff "$id" >/dev/null
echo mine >"$W/other"
strace -qq -o /dev/null "${no_flags[@]}" "$CALLGATE" ws apply "$id" >"$T/out" 2>"$T/said"
{ [ $? = 3 ] && [ "$(cat "$W/other")" = mine ] && [ -e "$W/other.theirs" ]; } ||
	fail "no flags, a conflict: $(ls -lR "$W") $(cat "$T/said")"
rm "$W"/other*
strace -qq -o "$T/trace" "${no_flags[@]}" "$CALLGATE" ws apply "$id" >"$T/out" 2>"$T/said" ||
	fail "no flags: $(cat "$T/out" "$T/said")"
ends "no flags" ""
for ((n = 1; n <= 4; n++)); do
	play
	ws diff "$id" >/dev/null
	strace -qq -o "$T/trace" "${no_flags[@]}" -e inject=unlinkat:signal=KILL:when=$n \
		"$CALLGATE" ws apply "$id" >"$T/out" 2>&1 &
	wait $! 2>/dev/null
	grep -q KILL "$T/trace" || fail "no flags: not killed at $n: $(cat "$T/trace" "$T/out")"
	ends "no flags, killed at unlinkat $n" unlinkat
done

# So it may be with that of TMPDIR: a workspace, and the copy that it is made of, can be removed nevertheless.
WORKSPACE_COW=--cow=copy play 'mkdir -p a/b/c/d; echo x >a/b/c/d/x'
for verb in diff discard; do
	strace -qq -o /dev/null "${no_flags[@]}" "$CALLGATE" ws $verb "$id" >"$T/out" 2>&1
	[ $? -le 1 ] || fail "no flags, $verb: $(cat "$T/out")"
done
[ -z "$(ws list)" ] || fail "no flags, discarded: $(ws list)"

# A new directory that the program has nested deeper than this process may have open files is removed, too.
# shellcheck disable=SC2016 # the inner shell's
deep='rm f2d; mkdir f2d; cd f2d; i=0; while [ $i -lt 400 ]; do mkdir x; cd x; i=$((i + 1)); done; echo new >new'
play "$deep"
ws diff "$id" >/dev/null
(
	ulimit -n 200
	strace -qq -o /dev/null -e trace=renameat2 -e inject=renameat2:error=EPERM:when=1 \
		"$CALLGATE" ws apply "$id" >"$T/out" 2>"$T/said"
) && fail "deep: nothing failed"
[ -z "$(find "$W" -maxdepth 1 -name '.callgate-*')" ] || fail "deep: left: $(ls -A "$W") $(tail -c 200 "$T/said")"
strace -qq -o /dev/null -e trace=renameat2 -e inject=renameat2:signal=KILL:when=1 \
	"$CALLGATE" ws apply "$id" >"$T/out" 2>&1 &
wait $! 2>/dev/null
[ -n "$(find "$W" -maxdepth 1 -name '.callgate-*')" ] || fail "deep: not killed: $(ls -A "$W")"
(ulimit -n 200 && ws recover "$id" >"$T/out" 2>&1) || fail "deep: recover: $(cat "$T/out")"
[ "$(content f2d)" = "${old[f2d]}" ] || fail "deep: $(ls -A "$W")"
(ulimit -n 200 && ws apply "$id" >"$T/out" 2>&1) || fail "deep: again: $(cat "$T/out")"
[ "$(find "$W/f2d" -name new -exec cat {} +)" = new ] || fail "deep: not applied"
ws discard "$id" || fail "deep: discard"

# An entry appears in the old directory meanwhile, or one that is to be deleted changes: all of it stays.
for change in 'echo mine >d2f/mine' 'echo mine >d2f/a' 'mkdir d2f/k/mine; echo mine >d2f/mine' 'echo mine >d2f/k/b'; do
	play "$alone"
	begin_stopped fsync:2 ws apply "$id"
	(cd "$W" && eval "$change")
	go_on
	[ $? = 3 ] || fail "$change: no conflict: $(cat "$T/out" "$T/said")"
	grep -q '^callgate ws apply: d2f: conflict' "$T/said" || fail "$change: not said: $(cat "$T/said")"
	[ "$(find "$W/d2f" -type f | grep -c '/[ab]$')" = 2 ] || fail "$change: not all stays: $(ls -lR "$W")"
	grep -rqx mine "$W/d2f" || fail "$change: lost: $(ls -lR "$W")"
	[ -z "$(find "$W" -name '.callgate-*')" ] || fail "$change: left: $(ls -laR "$W")"
	ws discard "$id" || fail "$change: discard"
done

# One of its entries stays: so do the others.
play "$alone"
echo mine >"$W/d2f/k/mine"
ws apply "$id" >"$T/out" 2>"$T/said"
[ $? = 3 ] || fail "an entry stays: $(cat "$T/out" "$T/said")"
[ "$(cat "$W/d2f/a" "$W/d2f/k/mine")" = $'old d2f/a\nmine' ] || fail "an entry stays: $(ls -lR "$W")"
ws discard "$id" || fail "discard"

# A name of a file in a new directory, whose other name takes the place of a file that has a new name, is that.
play 'mv kept moved; echo both >kept; rm f2d; mkdir f2d; ln kept f2d/in'
ws apply "$id" >"$T/out" 2>&1 || fail "names: $(cat "$T/out")"
{ [ "$W/kept" -ef "$W/f2d/in" ] && [ "$(cat "$W/kept")" = both ]; } || fail "names: $(ls -liR "$W")"
discard_all
