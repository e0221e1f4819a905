#!/bin/bash
# What callgate run --cow and callgate ws apply say: that nothing was written; why a change cannot be applied, where the
# error of the system call does not tell; that a signal has interrupted an apply, and what goes on.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/workspace-lib.sh"
need jq
W=$T/w
# shellcheck disable=SC2016 # the program's shell expands it
edit='for f in d/*; do [ -d $f ] || echo new >$f; done'
# shellcheck disable=SC2016
set_attributes='value=$(printf %3000d 1); for i in 1 2 3; do setfattr -n user.a$i -v "$value" f || exit 0; done
	echo y >set'

play() # COMMAND: in a fresh tree; the workspace is $id
{
	rm -rf "$W"
	mkdir -p "$W/d/sub"
	for name in f d/a d/b; do echo "old $name" >"$W/$name"; done
	later
	run_in_workspace "$1"
}

# ---- nothing was written ----
mkdir -p "$W"
for command in 'read x <f' 'echo x >f' 'chmod 700 .'; do
	echo f >"$W/f"
	chmod 755 "$W"
	"$CALLGATE" run "${WORKSPACE_COW:---cow}" --profile minimal -w "$W" -r /usr -x /usr/bin -- /bin/sh -c \
		"$command" >"$T/out" 2>"$T/err" || fail "$command: $(cat "$T/err")"
	text='what was written to '
	[ "$command" != 'read x <f' ] || text='nothing was written to '
	grep -qF "$text$W" "$T/err" || fail "$command: $(cat "$T/err")"
done
says 125 '"": no such workspace' apply ''

# ---- a signal ----
if strace -o /dev/null true 2>/dev/null; then
	for signal in INT TERM; do
		play "$edit"
		ws diff "$id" >/dev/null # makes the layer of a copy
		# Not in the background, where SIGINT is ignored.
		strace -qq -o /dev/null -e trace=renameat2,renameat \
			-e "inject=renameat2,renameat:signal=$signal:when=2" \
			"$CALLGATE" ws apply "$id" >"$T/out" 2>"$T/said"
		grep -q "interrupted; callgate ws recover $id" "$T/said" || fail "$signal: $(cat "$T/out" "$T/said")"
		says 0 'steps were done' recover "$id"
		says 0 '' apply --theirs "$id"
		says 0 '' discard "$id"
	done
	# Without room for the journal.
	play 'echo new >f'
	ws diff "$id" >/dev/null
	strace -qq -o /dev/null -P "$(echo "$TMPDIR"/callgate-*/workspaces/"$id")/journal" -e trace=write \
		-e inject=write:error=ENOSPC "$CALLGATE" ws apply "$id" >"$T/out" 2>"$T/said" &&
		fail "applied without a journal"
	grep -q 'or move this one to a larger one' "$T/said" || fail "no room: $(cat "$T/said")"
	# As it says, the workspace is moved.
	mkdir -p "$T/other"
	mkdir -m 700 "$T/other/callgate-$(id -u)" "$T/other/callgate-$(id -u)/workspaces"
	rmdir "$TMPDIR"/callgate-*/workspaces/"$id"/*/work/* 2>/dev/null # closed to its own user
	cp -a "$TMPDIR"/callgate-*/workspaces/"$id" "$T/other/callgate-$(id -u)/workspaces" || fail "cp -a"
	TMPDIR=$T/other says 0 'M  f' apply "$id"
	says 0 '' discard "$id"
fi

# ---- the directory is not there ----
for instead in none link file; do
	play 'echo new >f; rm d/a'
	mv "$W" "$T/moved"
	mkdir -p "$T/other-dir"
	case $instead in
	link) ln -s other-dir "$W" ;;
	file) echo file >"$W" ;;
	esac
	for verb in diff 'diff --json' apply 'apply --theirs'; do
		# shellcheck disable=SC2086 # words
		says 125 "$id, of $W: its directory cannot be opened" $verb "$id"
	done
	[ $instead != none ] || grep -q 'No such file or directory$' "$T/out" || fail "$instead: $(cat "$T/out")"
	says 0 'no apply of it was interrupted' recover "$id"
	[ -z "$(ls -A "$T/other-dir")" ] || fail "applied to where a link leads: $(ls -A "$T/other-dir")"
	rm -f "$W"
	mv "$T/moved" "$W"
	says 0 '' apply "$id"
	{ [ "$(cat "$W/f")" = new ] && [ ! -e "$W/d/a" ]; } || fail "$instead: not applied: $(ls -R "$W")"
	says 0 '' discard "$id"
done

# ---- another directory with the same inode number: the root of another file system ----
other_dir='another directory than that of the run'
if [ "$(id -u)" = 0 ] && mkdir "$T/a" "$T/b" && mount -t tmpfs none "$T/a" 2>/dev/null; then
	later # the time tells them apart, before Linux 6.6
	mount -t tmpfs none "$T/b"
	for each in a b; do
		echo "of $each" | tee "$T/$each/f" >"$T/$each/g"
	done
	later
	rm -rf "$W"
	mkdir "$W"
	mount --bind "$T/a" "$W"
	run_in_workspace 'echo new >f; rm g'
	umount "$W"
	mount --bind "$T/b" "$W"
	[ "$(stat -c %i "$T/a")" = "$(stat -c %i "$W")" ] || echo "other inode numbers: the next test says nothing"
	was=$(picture "$W")
	says 3 "$other_dir" apply "$id"
	[ "$(picture "$W")" = "$was" ] || fail "another file system was changed: $(ls "$W"; cat "$W/f")"
	umount "$W"
	mount --bind "$T/a" "$W"
	says 0 '' apply "$id" f
	says 0 'D  g' apply "$id"
	says 0 '' discard "$id"
	umount "$W" "$T/a" "$T/b"
	# An overlay copies the directory up when it is first changed: it is the same one.
	mkdir -p "$T/low/w" "$T/up" "$T/work"
	echo old | tee "$T/low/w/f" >"$T/low/w/g"
	later
	rm -rf "$W"
	mkdir "$T/merged"
	if mount -t overlay -o "lowerdir=$T/low,upperdir=$T/up,workdir=$T/work" none "$T/merged" 2>/dev/null; then
		ln -s merged/w "$W"
		run_in_workspace 'echo new >f; rm g'
		says 0 'M  f' apply "$id" f
		says 0 'D  g' apply "$id"
		says 0 '' discard "$id"
		umount "$T/merged"
	fi
	rm -rf "$W"
fi

# ---- why not ----
if [ "$(id -u)" = 0 ]; then
	play 'echo new >d/a'
	if chattr +i "$W/d/a" 2>/dev/null; then
		says 125 'd/a: not applied: it is immutable' apply --theirs "$id"
		chattr -i "$W/d/a"
		chattr +i "$W/d"
		says 125 'd/a: not applied: its directory is immutable' apply --theirs "$id"
		chattr -i "$W/d"
	fi
	if mount -t tmpfs none "$W/d" 2>/dev/null; then
		says 125 'd: cannot be compared: something is mounted there' diff "$id"
		says 125 'd: cannot be compared: something is mounted there' apply "$id"
		umount "$W/d"
	fi
	says 0 '' apply --theirs "$id"
	says 0 '' discard "$id"
	# In a copy, what is another user's is the user's own.
	rm -rf "$W"
	mkdir -p "$W/d" "$T/user"
	echo old >"$W/d/a"
	chmod 711 "$T"
	chown 54321:54321 "$T/user" "$W"
	chmod 755 "$W" "$W/d"
	as_user=(setpriv --reuid=54321 --regid=54321 --clear-groups --inh-caps=-all --bounding-set=-all -- env
		"HOME=$T/user" "TMPDIR=$T/user" "$CALLGATE")
	if "${as_user[@]}" --version >/dev/null 2>&1 &&
		(cd / && "${as_user[@]}" run --json --cow=copy --profile minimal -w "$W" -r /usr -x /usr/bin -- \
			/bin/sh -c 'echo new >d/a') >"$T/result" 2>"$T/err"; then
		id=$(jq -r .workspace.id "$T/result")
		(cd / && "${as_user[@]}" ws apply "$id") >"$T/out" 2>&1 &&
			fail "applied in another user's: $(ls -lR "$W")"
		grep -qF "d/a: not applied: its directory is another user's" "$T/out" ||
			fail "not said: $(cat "$T/out")"
		[ "$(cat "$W/d/a")" = old ] || fail "changed: $(cat "$W/d/a")"
		"${as_user[@]}" ws discard "$id" || fail "discard"
		# What cannot be removed is not touched, so that the next apply says the same.
		(cd / && "${as_user[@]}" run --json --cow=copy --profile minimal -w "$W" -r /usr -x /usr/bin -- \
			/bin/sh -c 'rm -r d; echo f >d') >"$T/result" 2>"$T/err" || fail "the program: $(cat "$T/err")"
		id=$(jq -r .workspace.id "$T/result")
		was=$(picture "$W/d")
		for round in 1 2; do
			(cd / && "${as_user[@]}" ws apply "$id") >"$T/out" 2>&1 && fail "replaced another user's"
			grep -qF "d: not applied: it is another user's directory" "$T/out" ||
				fail "round $round: $(cat "$T/out")"
			[ "$(picture "$W/d")" = "$was" ] || fail "round $round: changed: $(picture "$W/d") not $was"
		done
		[ "$(ls -A "$W")" = d ] || fail "left: $(ls -A "$W")"
		"${as_user[@]}" ws discard "$id" || fail "discard"
	fi
	rm -rf "$W"
fi
# The layer is on a tmpfs, which takes larger attributes than most disks.
if [ "$(stat -f -c %T /dev/shm 2>/dev/null)" = tmpfs ] && [ "$(stat -f -c %T "$T")" = ext2/ext3 ] &&
	command -v setfattr >/dev/null; then
	was=$TMPDIR
	TMPDIR=$(mktemp -d /dev/shm/callgate-test.XXXXXX)
	export TMPDIR
	play "$set_attributes"
	if [ "$(ws diff "$id" set)" = 'A  set' ]; then
		says 125 'f: not applied: the file system has no room for so many or such large extended attributes' \
			apply "$id"
	fi
	ws discard "$id" || fail "discard"
	rm -rf "$TMPDIR"
	export TMPDIR=$was
fi
discard_all
[ -n "${WORKSPACE_COW:-}" ] || WORKSPACE_COW=--cow=copy bash "$0" || fail "by a copy"
exit $live_failed
