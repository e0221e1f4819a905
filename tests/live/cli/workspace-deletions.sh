#!/bin/bash
# callgate ws apply deletes or overwrites no old name of a file whose new name it leaves out, whenever that is, and for
# any reason.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/workspace-lib.sh"
need jq
W=$T/w

play() # COMMAND: in a fresh tree; the workspace is $id
{
	local name
	rm -rf "$W"
	mkdir -p "$W/a" "$W/d"
	ln -s /none/ax "$W/link"
	for name in ax b gone a/x d/y; do echo "old $name" >"$W/$name"; done
	later
	run_in_workspace "$1"
}

# A file takes the name of another one, which is a conflict: the old name stays, with what else may be it.
for edit in : 'echo edited >>b'; do
	for options in "" --ours; do
		what="mv ax b; $edit; $options"
		play "mv ax b; $edit"
		echo outside >>"$W/b"
		[ "$options:$edit" = --ours:: ] && expected=0 || expected=3
		# shellcheck disable=SC2086 # there may be none
		applies $expected "$what" $options
		has "$what" ax 'old ax'
		has "$what" b $'old b\noutside'
		# What it is, is known of equal contents only. With --ours there are no messages otherwise.
		[ "$expected" = 3 ] || [ ! -s "$T/said" ] || fail "$what: said: $(cat "$T/said")"
		[ "$edit" = : ] || grep -q 'nothing is deleted' "$T/said" || fail "$what: not said: $(cat "$T/said")"
		applies 0 "$what, theirs" --theirs
		[ ! -e "$W/ax" ] || fail "$what: not deleted with --theirs"
		ws discard "$id" || fail "$what: discard"
	done
done

# So it is if it runs later outside, or takes the place of a directory.
for change in 'mv ax .envrc' 'mv ax .envrc; echo edited >>.envrc' 'mv ax .envrc; ln -s .envrc ax'; do
	play "$change"
	applies 3 "$change"
	has "$change" ax 'old ax'
	applies 0 "$change, allowed" --allow-executed --theirs
	[ ! -f "$W/ax" ] || [ -L "$W/ax" ] || fail "$change: ax: $(ls -l "$W")"
	ws discard "$id" || fail "$change: discard"
done
# Nor is a link lost. The file system of an overlay does not tell of links which ones were renamed.
if [ "${WORKSPACE_COW:-}" = --cow=copy ]; then
	play 'mv link out'
	applies 3 "a link"
	[ "$(readlink "$W/link")" = /none/ax ] || fail "a link is lost: $(ls -l "$W")"
	ws discard "$id" || fail "discard"
fi
play 'rm -r d; mv ax d; echo edited >>d'
echo mine >"$W/d/mine"
applies 3 "instead of a directory"
has "instead of a directory" ax 'old ax'
has "instead of a directory" d/y 'old d/y'
ws discard "$id" || fail "discard"

# Other deletions are made, if nothing that is left out can be what they delete.
play 'rm -r gone d; echo edited >new; echo edited >Makefile'
applies 3 "nothing renamed"
{ [ ! -e "$W/gone" ] && [ ! -e "$W/d" ]; } || fail "not deleted: $(ls -R "$W")"
ws discard "$id" || fail "discard"

# One name of a renamed file selects the other one, also where that was one of another file.
for name in ax b; do
	play 'mv ax b; rm gone'
	applies 0 "only $name" "$name"
	{ [ ! -e "$W/ax" ] && [ -e "$W/gone" ]; } || fail "only $name: $(ls "$W")"
	has "only $name" b 'old ax'
	ws discard "$id" || fail "discard"
done

# What belongs to a conflict is told apart by the renames of the run: all else is deleted.
for change in 'mv ax c' 'mv ax d/t; mv d/t c' 'ln ax c; rm ax' 'mv gone c; mv c gone; mv ax c'; do
	play "$change; echo edited >>c; echo edited >>b; rm gone; mv d/y d/z"
	echo outside | tee "$W/c" >>"$W/b"
	applies 3 "$change"
	has "$change" ax 'old ax'
	has "$change" d/z 'old d/y'
	case "$change$(jq -r .workspace.by "$T/result")" in
	*'mv c gone'*overlay) has "$change" gone 'old gone' ;; # the two may have changed their names
	*) [ ! -e "$W/gone" ] || fail "$change: not deleted: $(cat "$T/out" "$T/said")" ;;
	esac
	ws discard "$id" || fail "$change: discard"
done

# A file is not overwritten while its old content is in one that is left out, edited or not, also in a chain.
for change in 'mv b c; echo new >b' 'mv b c; echo edited >>c; echo new >b' 'mv b t; mv ax b; mv t c' \
	'mv b c; mv ax b; echo edited | tee -a b >>c; mv a/x ax'; do
	for options in "" --ours; do
		play "$change; rm gone"
		echo outside >"$W/c"
		applies 3 "$change $options" ${options:+"$options"}
		has "$change $options" b 'old b'
		has "$change $options" c outside
		case "$change" in *ax*) has "$change $options" ax 'old ax' ;; esac
		case "$change" in *a/x*) has "$change $options" a/x 'old a/x' ;; esac
		[ ! -e "$W/gone" ] || fail "$change $options: not deleted: $(cat "$T/out" "$T/said")"
		grep -q 'nothing is deleted or overwritten' "$T/said" ||
			fail "$change $options: not said: $(cat "$T/said")"
		applies 0 "$change, theirs" --theirs
		[ "$(cat "$W/b")" != 'old b' ] || fail "$change, theirs: b"
		ws diff "$id" || fail "$change, theirs: $(ws diff "$id")"
		ws discard "$id" || fail "$change: discard"
	done
done
play 'mv b c; echo edited >>c; echo new >b'
echo outside >"$W/c"
applies 0 "b alone" b
has "b alone" b new
ws discard "$id" || fail "discard"

# With a directory the names in it change, also when it changes its name with another one, or with a file.
# shellcheck disable=SC2016 # the program's shell, and perl, expand it
for change in 'mkdir n; mv ax n/.envrc; mv b n/b; mv n m' 'mkdir n m; mv ax n/.envrc; mv b n/b; $X n m' \
	'mkdir n n/n; mv ax n/n/.envrc; mv b n/n/b; mv n m; $X m/n d/y; mv d/y m/n/y; mv d/y m/z'; do
	X='perl -e syscall(316,-100,$ARGV[0],-100,$ARGV[1],2)' # renameat2(2) with RENAME_EXCHANGE
	[[ $change != *X* ]] || { [ "$(uname -m)" = x86_64 ] && [ -x /usr/bin/perl ]; } || continue
	play "X='$X'; $change; find . -name .envrc | while read f; do echo edited >>\$f; done; echo new >ax; rm gone"
	applies 3 "$change"
	has "$change" ax 'old ax'
	[ ! -e "$W/gone" ] || fail "$change: not deleted: $(cat "$T/out" "$T/said")"
	applies 0 "$change, theirs" --theirs --allow-executed
	has "$change, theirs" ax new
	ws discard "$id" || fail "discard"
done

# An overlay cannot rename a directory of the lower layer, so that mv(1) copies its files, and removes it.
for change in 'mv d e; echo edited >>e/y' 'echo edited >>d/y; mv d e' 'mv ax d/y; echo edited >>d/y; mv d e' \
	'mv d t; mv t e; echo edited >>e/y' 'mv d e; echo edited >>e/y; mkdir d; echo new >d/y' \
	'mkdir t; mv d t; mv t/d e; echo edited >>e/y; ln -s y d' 'mkdir t; mv d/y t/y; mv t e; echo edited >>e/y'; do
	for options in "" --ours; do
		play "$change; rm gone; mkdir n; echo x >n/x; rm a/x b"
		mkdir "$W/e" "$W/n"
		echo outside >"$W/n/x" # which a/x is none of, as a is not removed
		echo outside >"$W/e/y"
		applies 3 "$change $options" ${options:+"$options"}
		case "$change" in
		*ax*) has "$change" ax 'old ax' ;;
		*) has "$change" d/y 'old d/y' ;;
		esac
		{ [ ! -e "$W/gone" ] && [ ! -e "$W/b" ] && [ ! -e "$W/a/x" ]; } ||
			fail "$change: not deleted: $(cat "$T/out" "$T/said")"
		applies 0 "$change, theirs" --theirs
		[ "$(tail -n 1 "$W/e/y")" = edited ] || fail "$change, theirs: $(ls -R "$W")"
		ws diff "$id" || fail "$change, theirs: $(ws diff "$id")"
		ws discard "$id" || fail "$change: discard"
	done
done

# What was to take the place of a directory is left out with it, before anything is replaced.
for options in "" --ours; do
	play 'rm d/y; rmdir d; mv ax d; echo edited >>d; mkdir ax; echo new >ax/new'
	echo outside >"$W/d/new"
	applies 3 "instead of a directory that stays $options" ${options:+"$options"}
	has "instead of a directory that stays $options" ax 'old ax'
	has "instead of a directory that stays $options" d/new outside
	ws discard "$id" || fail "discard"
done

# In a directory that the program has to open for itself, files are noted as well.
play 'exit 0'
ws discard "$id" || fail "discard"
chmod 0 "$W/d"
cg run --json "${WORKSPACE_COW:---cow}" --profile minimal -w "$W" -r /usr -x /usr/bin -- /bin/sh -c \
	'chmod 755 d && mv d/y c && echo edited >>c' >"$T/result" 2>"$T/err"
id=$(jq -r '.workspace.id // empty' "$T/result")
if [ "$(id -u)" = 0 ] && [ "$(jq .exit_code "$T/result")" = 0 ]; then # others can compare no such directory
	echo outside >"$W/c"
	applies 3 "a closed directory"
	chmod 755 "$W/d"
	has "a closed directory" d/y 'old d/y'
fi
discard_all
chmod 755 "$W/d"

# A file that session restore has made again may be one that was moved, or be moved with its directory.
for change in 'mv ax e' 'mv d e'; do
	play 'exit 0'
	ws discard "$id" || fail "discard"
	id=$("$CALLGATE" session create "${WORKSPACE_COW:---cow}" --profile minimal -w "$W" -r /usr -x /usr/bin) ||
		die "session create"
	inside() { "$CALLGATE" session exec "$id" -- /bin/sh -c "$1" || fail "in the session: $1"; }
	case "$change" in
	*d*) inside 'echo edited >>d/y' ;;
	*) inside "$change; echo edited >>e" ;;
	esac
	"$CALLGATE" session checkpoint "$id" >/dev/null || fail "$change: checkpoint"
	inside 'rm -rf d e'
	"$CALLGATE" session restore "$id" 1 || fail "$change: restore"
	case "$change" in *d*) inside "$change; echo edited >>e/y" ;; esac
	"$CALLGATE" session stop "$id"
	case "$change" in
	*d*) mkdir "$W/e" && echo outside >"$W/e/y" ;;
	*) echo outside >"$W/e" ;;
	esac
	applies 3 "restored: $change" --ours
	has "restored: $change" ax 'old ax'
	has "restored: $change" d/y 'old d/y'
	ws discard "$id" || fail "discard"
done

# All files stay where the notes of the renames are missing, or are of an earlier start of the machine; so they do where
# not all bases could be kept, by which hard links are known. What is overwritten stays as well.
if [ "$(jq -r .workspace.by "$T/result")" = overlay ]; then
	for notes in 'rm moves' 'chmod +t moves' 'sed -i s/^./x/ moves' 'chmod +t bases'; do
		for change in 'mv ax .envrc; echo edited >>.envrc; rm gone' \
			'mv b .envrc; echo edited >>.envrc; echo new >b; rm gone' \
			'mv b .envrc; mv ax b; echo edited | tee -a b >>.envrc; rm gone' \
			'mv b .envrc; ln -s ax b; echo edited >>.envrc; rm gone'; do
			play "$change; echo n >n"
			# shellcheck disable=SC2086 # words
			(cd "$TMPDIR/callgate-$(id -u)/workspaces/$id/0" && $notes)
			applies 3 "$notes: $change"
			for name in ax b gone; do has "$notes: $change" $name "old $name"; done
			has "$notes" n n
			grep -q 'is not known' "$T/said" || fail "$notes: not said: $(cat "$T/said")"
			applies 0 "$notes: $change, theirs" --theirs --allow-executed
			[ ! -e "$W/gone" ] || fail "$notes: not deleted with --theirs"
			ws diff "$id" || fail "$notes: $(ws diff "$id")"
			ws discard "$id" || fail "discard"
		done
	done
	# A file with several names gets no mark when it is copied.
	play 'exit 0'
	ws discard "$id" || fail "discard"
	ln "$W/ax" "$W/ax2"
	cg run --json --cow --profile minimal -w "$W" -r /usr -x /usr/bin -- /bin/sh -c \
		'mv ax .envrc; echo edited >>.envrc; rm ax2' >"$T/result" 2>"$T/err"
	id=$(jq -r .workspace.id "$T/result")
	rm "$W/ax" "$TMPDIR/callgate-$(id -u)/workspaces/$id/0/moves"
	applies 3 "hard links, not known"
	has "hard links, not known" ax2 'old ax'
	ws discard "$id" || fail "discard"
fi

strace -o /dev/null true 2>/dev/null || { discard_all; exit 0; }

# A directory cannot take the place of a file: what was moved into it is not deleted.
meanwhile() # OPTION: applies, and changes b outside before the first deletion
{
	begin_stopped syncfs:1 ws apply "$id" ${1:+"$1"}
	echo outside >>"$W/b"
	go_on
}
moved='rm b; mkdir b; mv a/x b/x; echo edited >>b/x; rm -r d; echo new >d'
play "$moved"
meanwhile ""
[ $? = 3 ] || fail "changed meanwhile: $(cat "$T/out" "$T/said")"
has "changed meanwhile" a/x 'old a/x'
has "changed meanwhile" b $'old b\noutside'
has "changed meanwhile" d new # nothing that is left out can be what was in it
applies 0 "changed meanwhile, again" --theirs
has "changed meanwhile, again" b/x $'old a/x\nedited'
ws discard "$id" || fail "discard"
play "$moved"
strace -f -qq -o /dev/null -e trace=renameat2 -e inject=renameat2:error=EIO:when=1 \
	"$CALLGATE" ws apply "$id" >"$T/out" 2>"$T/said"
[ $? = 125 ] || fail "EIO: $(cat "$T/out" "$T/said")"
has EIO a/x 'old a/x'
has EIO d/y 'old d/y'
ws recover "$id" >/dev/null 2>&1 || fail "recover"
applies 0 "EIO, again"
ws discard "$id" || fail "discard"
discard_all
