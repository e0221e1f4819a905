#!/bin/bash
# callgate ws apply deletes or overwrites no name of a file with several (hard links) while a new name of it is left
# out, whichever of the names the program has moved, linked or edited, and which of them something outside removes.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/workspace-lib.sh"
need jq
W=$T/w

play() # COMMAND: in a fresh tree, in which f0, a/x and l are one file; the workspace is $id
{
	rm -rf "$W"
	mkdir -p "$W/a" "$W/d"
	echo old >"$W/f0"
	ln "$W/f0" "$W/a/x"
	ln "$W/f0" "$W/l"
	for name in g d/y; do echo "old $name" >"$W/$name"; done
	later
	run_in_workspace "$1"
}

keeps() # WHAT: some name in the directory has the old content
{
	grep -rqx old "$W" || fail "$1: lost: $(ls -R "$W") $(cat "$T/out" "$T/said")"
}

# The new name is left out, as it runs later outside.
# shellcheck disable=SC2016 # the program's shell expands it
for change in 'rm f0 l; mv a/x Makefile' 'rm f0 l; mv a/x Makefile; echo edited >>Makefile' \
	'rm l f0; echo new >f0; mv a/x Makefile; echo edited >>Makefile' \
	'rm l a/x; ln f0 Makefile; rm f0; echo edited >>Makefile' 'ln f0 Makefile; rm a/x l; echo edited >>Makefile' \
	'mv a/x t; mv t d/t; mv d/t Makefile; rm f0 l; echo edited >>Makefile' \
	'mv a/x t; ln t Makefile; rm t f0 l; echo edited >>Makefile' \
	'echo edited >>a/x; mv a/x Makefile; rm f0 l' \
	'rm f0 l; mkdir n; mv a/x n/Makefile; mv n m; echo e >>m/Makefile' \
	'$X g a/x; mv g Makefile; rm f0 l; echo edited >>Makefile' \
	'rm l f0; mkdir f0; mv a/x Makefile; echo e >>Makefile' \
	'rm l f0; ln -s a f0; mv a/x Makefile; echo e >>Makefile'; do
	X='perl -e syscall(316,-100,$ARGV[0],-100,$ARGV[1],2)' # renameat2(2) with RENAME_EXCHANGE
	[[ $change != *X* ]] || { [ "$(uname -m)" = x86_64 ] && [ -x /usr/bin/perl ]; } || continue
	for outside in a/x 'a/x l' 'f0 a/x' 'f0 l'; do
		what="$change; outside: rm $outside"
		play "X='$X'; $change"
		(cd "$W" && eval "rm $outside")
		applies 3 "$what"
		keeps "$what"
		applies 0 "$what, allowed" --allow-executed --theirs
		ws diff "$id" || fail "$what: $(ws diff "$id")"
		ws discard "$id" || fail "$what: discard"
	done
done

# It is a conflict, with a name that the program has only edited, or given another mode.
for change in 'chmod 600 f0; rm a/x l' 'rm l; mv a/x l' 'chmod 600 a/x; ln a/x t; rm l; mv t l; rm f0'; do
	for options in "" --ours; do
		what="$change $options"
		play "$change"
		for name in f0 l; do
			echo outside >"$W/new"
			mv "$W/new" "$W/$name"
		done
		ws apply "$id" ${options:+"$options"} >"$T/out" 2>"$T/said"
		keeps "$what"
		ws discard "$id" || fail "$what: discard"
	done
done

# A selected deletion is made, as of any file; with the new name it is held.
play 'rm l f0; mv a/x Makefile; echo edited >>Makefile'
rm "$W/a/x" "$W/l"
applies 3 "both" f0 Makefile
keeps "both"
applies 0 "the deletion alone" f0
[ ! -e "$W/f0" ] || fail "the deletion alone: not made"
discard_all

# What is no name of that file is deleted and changed all the same.
play 'rm f0 d/y; echo edited >>g; mv a/x Makefile; echo edited >>Makefile'
rm "$W/a/x"
applies 3 "others"
{ [ ! -e "$W/d/y" ] && [ "$(cat "$W/g")" = $'old g\nedited' ]; } || fail "others: $(ls -R "$W")"
discard_all
exit $live_failed
