#!/bin/bash
# ACLs of other users and groups in a workspace: all that the program does keeps and inherits them as natively, and
# ws apply too, by an overlay and by a copy, also where the run's user namespace has no numbers for these.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/workspace-lib.sh"
need jq setfacl getfacl
W=$T/w

fresh()
{
	rm -rf "$1"
	mkdir -p "$1/dir/in" "$1/kept" || die "mkdir"
	for name in file moved linked same kept/same dir/in/file; do
		echo "$name" >"$1/$name"
	done
	setfacl -m u:1:r,g:29:rw "$1/file" 2>/dev/null || skip "no ACLs here"
	setfacl -m u:1:r "$1/moved" "$1/linked" "$1/same" "$1/dir/in/file" || die "setfacl"
	setfacl -m u:1:rwx,d:u:1:rwx,d:g:29:r "$1" "$1/dir" "$1/kept" || die "setfacl"
}
# shellcheck disable=SC2016 # the inner shell expands it
change='set -e; echo more >>file; chmod g-w file; mv moved there; echo new >dir/new; mkdir dir/sub; echo top >top
echo x >dir/in/file; ln linked second; chmod 600 second; [ "$(stat -c %i%a%h linked)" = "$(stat -c %i%a%h second)" ]'
show() { (cd "$1" && getfacl -Rn . && find . -type f -printf '%P %m %s %n\n') | sort; }

umask 022
fresh "$T/native"
show "$T/native" >"$T/before"
(cd "$T/native" && /bin/sh -c "$change") || die "natively"
show "$T/native" >"$T/expected"
for how in --cow --cow=copy; do
	fresh "$W"
	cg run --json $how --profile minimal -w "$W" -r /usr -x /usr/bin -- /bin/sh -c "$change" \
		>"$T/result" 2>"$T/err"
	jq -e '.exit_code == 0' "$T/result" >/dev/null ||
		fail "$how: $(jq -r '.stderr, .error.message' "$T/result")"
	show "$W" | diff "$T/before" - >"$T/differs" || fail "$how: changed: $(cat "$T/differs")"
	id=$(jq -r .workspace.id "$T/result")
	ws diff "$id" >"$T/diff"
	grep -q 'same\|kept' "$T/diff" && fail "$how: what was not changed: $(cat "$T/diff")"
	for line in 'M  dir/in/file  content, time' 'R  moved -> there'; do
		grep -qx "$line" "$T/diff" || fail "$how: $(cat "$T/diff")"
	done
	ws apply "$id" >"$T/out" 2>&1 || fail "$how: apply: $(cat "$T/out")"
	show "$W" | diff "$T/expected" - >"$T/differs" || fail "$how: $(cat "$T/differs")"
	discard_all
done

# The process that copies them has ended when the program starts, and is reaped.
# shellcheck disable=SC2317 # called by awaited
has_no_zombie() { ! pgrep -r Z -P "$runner" >/dev/null; }
begin_run
awaited has_no_zombie || fail "not reaped: $(ps --ppid "$runner")"
end_run
discard_all

# A checkpoint has them, and a restore brings them back. For a user, none can be set through the mount of the overlay
# (posix_acl_valid() in fs/posix_acl.c, with the user namespace of that mount).
for how in --cow --cow=copy; do
	fresh "$W"
	id=$(cg session create $how --profile minimal -w "$W" -r /usr -x /usr/bin) || fail "$how: session"
	cg session exec "$id" -- /bin/sh -c "$change" || fail "$how: exec"
	cg session checkpoint "$id" one >/dev/null || fail "$how: checkpoint"
	cg session exec "$id" -- /bin/sh -c 'rm -r dir file; echo other >there' || fail "$how: exec again"
	if [ $how = --cow ] && [ "$(id -u)" != 0 ]; then
		# all else is restored, also what comes later by name
		cg session exec "$id" -- /bin/sh -c 'echo later >zzz' || fail "$how: exec"
		cg session restore "$id" one 2>"$T/err" && fail "$how: restored"
		{ grep -q ': .*: its ACL names users or groups that an overlay' "$T/err" &&
			grep -q 'all was restored, except files and directories: [0-9]' "$T/err"; } ||
			fail "$how: $(cat "$T/err")"
		cg session exec "$id" -- /bin/sh -c '[ ! -e zzz ] && grep -qx top top' || fail "$how: the rest"
		cg session stop "$id" >/dev/null || fail "$how: stop"
		discard_all
		continue
	fi
	cg session restore "$id" one || fail "$how: restore"
	cg session stop "$id" >/dev/null || fail "$how: stop"
	ws apply "$id" >"$T/out" 2>&1 || fail "$how: apply: $(cat "$T/out")"
	show "$W" | diff "$T/expected" - >"$T/differs" || fail "$how, restored: $(cat "$T/differs")"
	discard_all
done
