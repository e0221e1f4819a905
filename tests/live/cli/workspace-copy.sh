#!/bin/bash
# --cow where no overlay can be mounted: the program gets a copy, which has all that the directory has, and whose
# changes ws apply finds; a copy that cannot be made is refused in one sentence; SIGKILL while it is made, used or
# compared loses nothing. All tests of workspaces are run with copies as well.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/workspace-lib.sh"
need jq "$PYTHON"
W=$T/w
kills=2
[ -z "${CHECK_LONG:-}" ] || kills=150

for test in cli/workspace cli/workspace-base cli/workspace-diff cli/workspace-apply cli/workspace-deletions \
	cli/workspace-random supervisor/session-workspace supervisor/session-checkpoint; do
	WORKSPACE_BRIEF=y WORKSPACE_COW=--cow=copy \
		WORKSPACE_SEEDS=${WORKSPACE_SEEDS:-1} WORKSPACE_KILLS=${WORKSPACE_KILLS:-1} \
		bash "$SRC/tests/live/$test.sh" >"$T/log" 2>&1 || fail "$test: $(tail -n 5 "$T/log")"
done

cow() # OPTION… -- PROGRAM…: the result in $T/result, the workspace in $id
{
	cg run --json --profile minimal -w "$W" -r /usr -x /usr/bin "$@" >"$T/result" 2>"$T/err"
	id=$(jq -r '.workspace.id // empty' "$T/result")
}

entries() # all that can be known of a tree, and which names are one file
{
	"$PYTHON" - "$1" <<'END'
import os, stat, sys
os.chdir(sys.argv[1])
first = {}
for top, dirs, files in os.walk(b'.'):
    for name in sorted(dirs + files) + [b'.']:
        path = os.path.join(top, name)
        at = os.lstat(path)
        is_dir, is_file = stat.S_ISDIR(at.st_mode), stat.S_ISREG(at.st_mode)
        print(path, oct(at.st_mode), at.st_uid, at.st_gid, 0 if is_dir else at.st_size, at.st_mtime_ns,
              at.st_atime_ns if is_file else 0, is_file and at.st_size > 8 * 2**20 and at.st_blocks < 1000,
              0 if is_dir else first.setdefault(at.st_ino, path),
              os.readlink(path) if stat.S_ISLNK(at.st_mode) else
              [(each, os.getxattr(path, each)) for each in sorted(os.listxattr(path))])
END
}

# All kinds of entries.
mkdir -p "$W/a/b" "$W/closed/in" "$W/empty"
echo one >"$W/one"
ln "$W/one" "$W/a/one too"
echo x >"$W/$(printf 'odd\n\033\377')"
truncate -s 20G "$W/sparse"
printf end | dd of="$W/sparse" bs=1 seek=5000000 conv=notrunc status=none
ln -s ../none "$W/a/link"
mkfifo -m 640 "$W/a/fifo"
"$PYTHON" -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$W/a/socket"
setfattr -n user.note -v text "$W/one" "$W/a" 2>/dev/null
chmod 4751 "$W/one"
chmod 500 "$W/closed/in" "$W/closed"
touch -hd '2001-02-03 04:05:06.123456789' "$W/a/link" "$W/a/b" "$W/a/fifo" "$W/one"
entries "$W" >"$T/before"
cow --cow=copy -- /usr/bin/true
entries "$W" | diff - "$T/before" >"$T/differs" || fail "changed: $(cat "$T/differs")"
jq -e '.workspace.by == "copy"' "$T/result" >/dev/null || fail "by: $(cat "$T/result" "$T/err")"
entries "$TMPDIR"/callgate-*/workspaces/"$id"/0/copy | sed "s/ [0-9]* \(False\|True\) / 0 \1 /" >"$T/copied"
sed "s/ [0-9]* \(False\|True\) / 0 \1 /" "$T/before" | diff - "$T/copied" >"$T/differs" ||
	fail "the copy differs: $(cat "$T/differs")"
[ -z "$(ws diff "$id")" ] || fail "nothing was changed: $(ws diff "$id")"
[ ! -e "$(echo "$TMPDIR"/callgate-*/workspaces/"$id"/0/copy)" ] || fail "the copy is left"
discard_all

# Names do not lead to the directory, and none of the copy's is seen.
cow --cow=copy --without namespaces -W "$T/tmp" -- /bin/sh -c 'cd -P a; exec 5<"one too"; pwd; /bin/pwd
	readlink /proc/self/cwd /proc/self/fd/5; cd ..; /bin/pwd; echo past >/proc/self/cwd/past
	ln one ../tmp/linked 2>/dev/null; mv one ../tmp/linked; ls ../tmp; cat /proc/self/mounts /proc/self/maps'
jq -r .stdout "$T/result" | grep -qa workspaces && fail "a name of the copy: $(jq -r .stdout "$T/result")"
[ "$(jq -r .stdout "$T/result" | head -n 5)" = "$(printf '%s\n' "$W/a" "$W/a" "$W/a" "$W/a/one too" "$W")" ] ||
	fail "names: $(jq -r .stdout "$T/result")"
[ "$(ws diff "$id")" = "$(printf 'D  one\nA  past')" ] || fail "names: $(ws diff "$id") $(cat "$T/result")"
[ "$(stat -c %h "$TMPDIR/linked")" = 1 ] || fail "a file of the copy has a name outside"
rm -f "$TMPDIR/linked"
entries "$W" | diff - "$T/before" >"$T/differs" || fail "changed by names: $(cat "$T/differs")"
discard_all

# A directory is renamed as natively, and put there by apply.
cow --cow=copy -- /bin/sh -c 'mv a c && mkdir a && echo new >a/new && mv c/b . && rmdir empty && echo f >empty'
[ "$(jq -r .status "$T/result")" = ok ] || fail "mv: $(cat "$T/result")"
ws apply --allow-executed "$id" >/dev/null || fail "apply"
{ [ -S "$W/c/socket" ] && [ -p "$W/c/fifo" ] && [ "$(cat "$W/a/new" "$W/empty")" = "$(printf 'new\nf')" ] &&
	[ -d "$W/b" ] && [ ! -e "$W/a/b" ]; } || fail "applied: $(ls -lR "$W")"
[ -z "$(ws diff "$id")" ] || fail "left: $(ws diff "$id")"
discard_all

# What cannot be copied is refused in one sentence that names it, and nothing is left of it.
refuses() # TEXT OPTION…
{
	local text=$1
	shift
	cow "$@" --cow=copy -- /bin/sh -c 'echo past >past'
	[ "$(jq -r .error.code "$T/result")" = "${code:-view_failed}" ] || fail "$text: $(cat "$T/result")"
	grep -qF -- "$text" "$T/err" || fail "$text: not said: $(cat "$T/err")"
	[ -z "$(ls "$TMPDIR"/callgate-*/workspaces 2>/dev/null)" ] || fail "$text: left: $(ls -R "$TMPDIR")"
}
if [ "$(id -u)" != 0 ]; then
	chmod 0 "$W/a"
	cow --cow=copy -- /bin/sh -c 'ls a'
	if jq -e .workspace "$T/result" >/dev/null; then # in a user namespace the supervisor may read the user's own
		[ "$(jq -r .exit_code "$T/result")" != 0 ] || fail "a directory of mode 0 was read: $(cat "$T/result")"
		discard_all
	else
		refuses "./a cannot be read: Permission denied"
	fi
	chmod 755 "$W/a"
fi
# A directory that its owner may list, but not search, and paths that moving has made too long: only they cannot be
# compared, and are not lost.
# shellcheck disable=SC2016 # the program's shell expands it
cow --cow=copy -- /bin/sh -c 'echo new >new; mkdir listed; echo >listed/f; chmod 400 listed
	path=$(printf %0200d/ 0 0 0 0 0 0 0 0 0 0 0 0)
	mkdir -p "top/$path" "moved/$path" && echo kept >"moved/${path}kept" && mv moved "top/$path"'
ws diff "$id" >"$T/out" 2>"$T/err"
{ grep -qxF 'A  new' "$T/out" && grep -qxF 'A  listed/' "$T/out"; } || fail "not searched: $(cat "$T/out" "$T/err")"
grep -q 'top/0.*: cannot be compared: File name too long' "$T/err" || fail "too long: $(cat "$T/out" "$T/err")"
[ -n "$(find "$TMPDIR" -name kept)" ] || fail "too long, and lost"
discard_all
code=workspace_failed TMPDIR=$W refuses "$W has TMPDIR in it"
rm -rf "$W"/callgate-*
if [ "$(id -u)" = 0 ] && mkdir "$T/small" && mount -t tmpfs -o size=4M small "$T/small" 2>/dev/null; then
	trap 'unmounted "$T/small"; live_done' EXIT
	head -c 6M /dev/zero | tr '\0' x >"$W/a/big"
	chown 12345:12345 "$W/a/big" # of another user, and not for the group: it is not filled later
	chmod 604 "$W/a/big"
	TMPDIR=$T/small refuses "./a/big cannot be written to the copy in TMPDIR: No space left on device; free some"
	rm "$W/a/big"
	# tmpfs does not tell what a mapping changed, so contents are compared.
	TMPDIR=$T/small cow --cow=copy -r "$PYTHON" -- "$PYTHON" -c 'import mmap
with open("a/new", "r+b") as file:
    area = mmap.mmap(file.fileno(), 0)
    print(area[0])
    area[0] = 77'
	[ "$(TMPDIR=$T/small ws diff "$id" | cut -c1-8)" = "M  a/new" ] ||
		fail "mapped: $(TMPDIR=$T/small ws diff "$id") $(cat "$T/result")"
	mount -o remount,ro "$T/small"
	[ "$(TMPDIR=$T/small ws diff "$id" 2>&1 | cut -c1-8)" = "M  a/new" ] ||
		fail "read-only: $(TMPDIR=$T/small ws diff "$id" 2>&1)"
	mount -o remount,rw "$T/small"
	mount -t tmpfs below "$W/b" && refuses "its layer would lack what is mounted below it, at $W/b" && umount "$W/b"
	unmounted "$T/small"
	trap live_done EXIT
fi

# SIGKILL of the run and of what compares it, at any moment: the directory stays, and no change is lost.
for ((i = 0; i < 40; i++)); do mkdir -p "$W/many/$i" && touch -d "@$i" "$W/many/$i/"{1..20}; done
entries "$W" >"$T/before"
work='echo changed >a/new; rm -r many/3; mv many/4 many/3; chmod 700 many/5; echo done >finished'
cow --cow=copy -- /bin/sh -c "$work"
ws diff "$id" >"$T/whole"
[ "$(wc -l <"$T/whole")" = 44 ] || fail "whole: $(wc -l <"$T/whole") $(head -n 3 "$T/whole")"
discard_all
for ((kill = 0; kill < kills; kill++)); do
	"$CALLGATE" run --cow=copy -q --profile minimal -w "$W" -r /usr -x /usr/bin -- /bin/sh -c "$work; sleep 100" \
		>"$T/killed" 2>&1 &
	runner=$!
	sleep "0.0$((RANDOM % 10))$((RANDOM % 10))"
	kill -KILL "$runner"
	wait "$runner" 2>/dev/null
	while [ -n "$(ws list --json | jq -r 'select(.in_use).id')" ]; do sleep 0.01; done
	for id in $(ws list --json | jq -r .id); do
		ws diff "$id" >"$T/killed" 2>&1
		[ $? -lt 2 ] || fail "killed in a run: $(cat "$T/killed")"
		grep -qa 'A  finished' "$T/killed" && ! cmp -s "$T/killed" "$T/whole" && fail "lost: $(cat "$T/killed")"
		grep -avxFf "$T/whole" "$T/killed" >"$T/odd" && fail "no change of the program's: $(cat "$T/odd")"
	done
	discard_all
	cow --cow=copy -- /bin/sh -c "$work"
	for pause in 0 1 2 3 5 8; do
		"$CALLGATE" ws diff "$id" >"$T/killed" 2>&1 &
		runner=$!
		sleep "0.00$pause"
		kill -KILL "$runner" 2>/dev/null
		wait "$runner" 2>/dev/null
	done
	ws diff "$id" | diff - "$T/whole" >"$T/differs" || fail "killed in ws diff: $(cat "$T/differs")"
	discard_all
done
entries "$W" | diff - "$T/before" >"$T/differs" || fail "changed: $(cat "$T/differs")"

# A checkpoint has what differs only. What had not been changed then is taken from the directory as it is when it is
# restored, so that what another process has changed there is seen; what the program has not changed stays.
mkdir -p "$W/twice/in" && echo 1 >"$W/twice/in/gone" && echo 2 >"$W/twice/changed" && echo 3 >"$W/twice/kept"
ln "$W/twice/kept" "$W/twice/kept2"
id=$("$CALLGATE" session create --cow=copy --profile minimal -w "$W" -r /usr -x /usr/bin -- /bin/sh) || die "create"
inside() { timeout "$LIVE_TIMEOUT" "$CALLGATE" session exec "$id" -- /bin/sh -c "$1"; }
"$CALLGATE" session checkpoint --json "$id" one | jq -e '.copied_files == 0' >/dev/null ||
	fail "copied what is the same"
inside 'cd twice; rm -r in changed kept kept2; mkdir changed; echo 4 >new'
rm -r "$W/twice/in" && echo other >"$W/twice/changed" && echo 5 >"$W/twice/somebody's"
"$CALLGATE" session restore "$id" one || fail "restore"
[ "$(inside 'cd twice; ls; cat changed; stat -c %h kept; [ kept -ef kept2 ] && echo same')" = \
	"$(printf '%s\n' changed kept kept2 other 2 same)" ] || fail "restored: $(inside 'ls -lR twice; cat twice/*')"
"$CALLGATE" session stop "$id"
ws diff "$id" | grep -v "^D  twice/in\|^D  twice/somebody's" && fail "differs: $(ws diff "$id")"
discard_all

# A new file that got the inode number of a removed one has not been there before: it is no conflict.
mkdir "$W/reused" && touch "$W"/reused/{1..20}
sleep 0.1
# shellcheck disable=SC2016 # the program's shell expands it
cow --cow=copy -- /bin/sh -c 'cd reused; rm *; for i in a b c d e f g h i j; do echo >$i; mkdir d$i; done'
touch "$W/reused/somebody's"
ws apply "$id" >"$T/out" 2>&1 || fail "inode numbers: $(cat "$T/out")"
discard_all

# A user's directory of a further group: the user namespace has no number for it, so an overlay could change nothing.
# For a user of group 65534 (nogroup) it looks like the own one in there.
other=54321
further_group() # OWN: the user's group
{
	local own=$1 as
	rm -rf "$T/user"
	mkdir -p "$T/user/tmp" "$T/user/w/d"
	echo a | tee "$T/user/w/f" >"$T/user/w/d/f"
	chown -R "$other:$own" "$T/user"
	chown -R $other:$((other + 1)) "$T/user/w"
	chmod 2755 "$T/user/w/d"
	as=(env "TMPDIR=$T/user/tmp" setpriv "--reuid=$other" "--regid=$own" "--groups=$own,$((other + 1))")
	"${as[@]}" "$CALLGATE" run --json --cow -p "$T/policy.json" -w "$T/user/w" -- \
		/bin/sh -c 'echo b >>f && echo b >>d/f && echo c >d/n && rm f && cat d/f d/n && mkdir -m 700 d/e &&
			echo e >d/e/n && echo o >n && chmod 600 d/e/n' >"$T/result" 2>"$T/err"
	[ "$(jq -rj '.workspace.by, .stdout' "$T/result")" = "$(printf 'copya\nb\nc')" ] ||
		fail "group $own, a further one: $(cat "$T/result" "$T/err")"
	id=$(jq -r .workspace.id "$T/result")
	"${as[@]}" "$CALLGATE" ws diff "$id" >"$T/out" 2>&1
	grep -q '^M  d/f  content, time$' "$T/out" || fail "group $own, the other one differs: $(cat "$T/out")"
	! grep '/  owner' "$T/out" || fail "group $own: the directory's own differs"
	"${as[@]}" "$CALLGATE" ws apply "$id" >"$T/out" 2>&1 || fail "group $own, a further one: $(cat "$T/out")"
	{ [ ! -e "$T/user/w/f" ] && [ "$(cat "$T/user/w/d/f")" = "$(printf 'a\nb')" ]; } ||
		fail "applied: $(ls -lR "$T/user/w")"
	# What was changed keeps its group, what is new gets that of a directory with a set-group-ID bit.
	[ "$(cd "$T/user/w" && stat -c '%n %g %a' d d/e d/e/n d/f d/n n | tr '\n' ,)" = "d 54322 2755,d/e 54322 \
2700,d/e/n 54322 600,d/f 54322 644,d/n 54322 644,n $own 644," ] || fail "groups: $(ls -lnR "$T/user/w")"
	"${as[@]}" "$CALLGATE" ws diff "$id" || fail "groups: $("${as[@]}" "$CALLGATE" ws diff "$id")"
	"${as[@]}" "$CALLGATE" ws discard "$id" || fail "discard"
}
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null && chmod 711 "$T" &&
	setpriv --reuid=$other --regid=$other --clear-groups test -x "$CALLGATE"; then
	"$CALLGATE" show --profile minimal -r /usr -x /usr/bin >"$T/policy.json" || fail "show"
	further_group $other
	further_group 65534
fi

# The records of a copy are read as a whole, so more than 1 GiB of paths is refused before the program starts.
if [ -n "${CHECK_LONG:-}" ]; then
	W=$T/deep
	"$PYTHON" - "$W" <<'END' || die "no deep tree"
import os, sys
os.mkdir(sys.argv[1])
os.chdir(sys.argv[1])
for _ in range(14):
    os.mkdir('d' * 250)
    os.chdir('d' * 250)
for i in range(290000):
    if i % 60000 == 0:
        open('of%d' % i, 'w').close()
        of = 'of%d' % i
    os.link(of, '%0205d' % i)
END
	refuses "the directory has more than 1 GiB of paths"
fi
exit $live_failed
