#!/bin/bash
# While callgate-UID in TMPDIR cannot be used, runs have callgate-UID-XXXXXX. Workspaces and sessions that are in it are
# found afterwards, too: by each verb. Directories of that name that are another user's, open to others, links, or where
# something is mounted, are not looked at.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/workspace-lib.sh"
need jq
W=$T/w
BASE=$TMPDIR/callgate-$(id -u)

cow() # COMMAND: sets $id
{
	cg run --json "${WORKSPACE_COW:---cow}" --profile minimal -w "$W" -r /usr -x /usr/bin -- /bin/sh -c "$1" \
		>"$T/result" 2>"$T/err" || fail "$1: $(cat "$T/err")"
	id=$(jq -r .workspace.id "$T/result")
}

session()
{
	timeout -k 5 "$LIVE_TIMEOUT" "$CALLGATE" session "$@"
}

lists() # WHAT ID…: just these workspaces
{
	local what=$1
	shift
	[ "$(ws list --json | jq -r .id | sort)" = "$(printf '%s\n' "$@" | sort)" ] || fail "$what: $(ws list), not $*"
}

mkdir "$W"
echo before >"$W/one"
mkdir -m 755 "$BASE"
cow 'echo first >one; echo new >two'
first=$id
cow 'echo discarded >three'
discarded=$id
session=$(session create "${WORKSPACE_COW:---cow}" --profile minimal -w "$W" -r /usr -x /usr/bin -- /bin/sh \
	2>"$T/err") || die "session: $(cat "$T/err")"
private=$(echo "$BASE"-*)
[ -d "$private/workspaces/$first" ] || die "where runs are: $(ls -l "$TMPDIR")"
lists "in use" "$first" "$discarded" "$session"
chmod 700 "$BASE"
sleep 1 # times are in seconds
cow 'echo second >three'
second=$id
[ -d "$BASE/workspaces/$second" ] || fail "not where it should be: $(ls "$BASE")"

# What others could have put there: a link, a directory that is open, a file, and one of another user's.
mkdir -p "$T/else/workspaces"
cp -a "$private/workspaces/$first" "$T/else/workspaces/aaaaaaaaaaaaaaaa"
chmod 700 "$T/else"
ln -s "$T/else" "$BASE-000000"
cp -a "$T/else" "$BASE-000001"
chmod 701 "$BASE-000001"
touch "$BASE-000002"
mkfifo "$BASE-000003"
cp -a "$T/else" "$BASE-0000004" # not of that form
[ "$(id -u)" != 0 ] || { cp -a "$T/else" "$BASE-000005" && chown 65534 "$BASE-000005"; }
# What is mounted there can tell any owner.
mkdir -m 700 "$BASE-000006"
if [ "$(id -u)" = 0 ] && mount -t tmpfs -o mode=700 none "$BASE-000006" 2>/dev/null; then
	trap 'umount "$BASE-000006"; live_done' EXIT
	cp -a "$T/else/workspaces" "$BASE-000006"
fi

lists "both" "$first" "$discarded" "$session" "$second"
[ "$(ws list --json | jq -r .id | tail -n 1)" = "$second" ] || fail "not sorted by time: $(ws list)"
ws diff aaaaaaaaaaaaaaaa 2>/dev/null && fail "what others have made is looked at"
ws diff "$first" >"$T/out" 2>&1
grep -qx 'A  two' "$T/out" || fail "diff: $(cat "$T/out")"
ws keep --label why "$first" || fail "keep"
ws discard "$first" 2>/dev/null && fail "discarded, though kept"
ws keep --undo "$first" || fail "keep --undo"
ws recover "$first" || fail "recover"
ws apply "$first" >/dev/null || fail "apply"
[ "$(cat "$W/one" "$W/two")" = $'first\nnew' ] || fail "applied: $(cat "$W/one" "$W/two")"
ws discard "$discarded" || fail "discard"
[ ! -e "$private/workspaces/$discarded" ] || fail "discarded, and left"

# A session goes on there.
[ "$(session list --json | jq -r .session)" = "$session" ] || fail "session list: $(session list)"
session exec "$session" -- /bin/sh -c 'echo a >four' || fail "session exec"
session checkpoint "${session:0:6}" one >/dev/null || fail "session checkpoint"
ws diff --checkpoint one "$session" >"$T/out"
grep -qx 'A  four' "$T/out" || fail "diff --checkpoint: $(cat "$T/out")"
session exec "$session" -- /bin/sh -c 'echo b >four' || fail "session exec"
session restore "$session" one || fail "session restore"
[ "$(session exec "$session" -- /bin/sh -c 'cat four')" = a ] || fail "not restored"
session stop "$session" >/dev/null || fail "session stop"
lists "the session has ended" "$first" "$session" "$second"
ws discard --all || fail "discard --all"
[ -z "$(ws list)" ] || fail "left: $(ws list)"
for kept in "$T/else" "$BASE-000001"; do
	[ -e "$kept/workspaces/aaaaaaaaaaaaaaaa" ] || fail "removed from $kept"
done
umount "$BASE-000006" 2>/dev/null
trap live_done EXIT
rm -rf "$BASE-000001" "$BASE-0000004" "$BASE-00000"[56]
