#!/bin/bash
# Where the file system can share blocks (btrfs), a workspace's copies, bases and checkpoints of large files are clones:
# no blocks are written, what is shared is not changed by either side, and ws apply makes the directory what it was.
. "$(dirname "$0")/../lib.sh"
need jq mkfs.btrfs filefrag losetup
[ "$(id -u)" = 0 ] || skip "not root: no file system can be mounted"
MIB=32

# shellcheck disable=SC2329 # called by the trap
end()
{
	status=$?
	cd / && unmounted "$T/fs"
	(exit $status)
	live_done
}
truncate -s 256M "$T/image"
mkdir "$T/fs"
mkfs.btrfs -q "$T/image" >"$T/err" 2>&1 || die "mkfs.btrfs: $(cat "$T/err")"
mount -o loop "$T/image" "$T/fs" 2>"$T/err" || skip "btrfs cannot be mounted: $(cat "$T/err")"
trap end EXIT
mkdir -p "$T/fs/w" "$T/fs/tmp"
chmod 755 "$T" "$T/fs"
export TMPDIR=$T/fs/tmp W=$T/fs/w
run=(run --json --profile minimal -w "$W" -r /usr -x /usr/bin)

# shared FILE: each of its blocks but those of the first extent is another file's, too
shared()
{
	sync "$1"
	filefrag -v "$1" |
		awk '/^ *[0-9]+:/ { all++; if (/shared/) shared++ } END { exit !(all && shared >= all - 1) }' ||
		fail "$1 is no clone: $(filefrag -v "$1")"
}

fresh()
{
	rm -rf "${W:?}"/*
	for name in large kept lost; do
		head -c "${MIB}M" /dev/urandom >"$W/$name" && cp "$W/$name" "$T/$name"
	done
	sync
}

for how in --cow=copy --cow; do
	fresh
	"$CALLGATE" "${run[@]}" "$how" -- sh -c 'printf x | dd of=large conv=notrunc status=none; rm kept; : >lost
		cat large >/dev/null' >"$T/result" 2>"$T/err" || fail "$how: $(cat "$T/err")"
	id=$(jq -r .workspace.id "$T/result")
	[ "$(jq -r .status "$T/result")" = ok ] || fail "$how: $(cat "$T/result")"
	for name in large kept lost; do
		cmp "$W/$name" "$T/$name" || fail "$how: $name of the directory was changed"
	done
	layer=$TMPDIR/callgate-0/workspaces/$id/0
	"$CALLGATE" ws diff "$id" >"$T/diff"
	[ "$? $(wc -l <"$T/diff")" = "1 3" ] || fail "$how: diff: $(cat "$T/diff")"
	shared "$(find "$layer" -name large -size "+$((MIB - 1))M" | head -n 1)"
	printf y >>"$W/lost" && cp "$W/lost" "$T/theirs" # a conflict, whose base is larger than what is copied
	"$CALLGATE" ws apply "$id" >"$T/out" 2>"$T/err"
	[ $? = 3 ] || fail "$how: no conflict: $(cat "$T/out" "$T/err")"
	cmp "$W/lost.ours" "$T/theirs" || fail "$how: ours of the conflict"
	cmp "$W/lost.base" "$T/lost" || fail "$how: base of the conflict: $(cat "$T/err")"
	shared "$W/lost.base"
	# An overlay does not tell whether it is the old name of the file that was left out.
	"$CALLGATE" ws apply "$id" kept >"$T/out" 2>"$T/err"
	[ ! -e "$W/kept" ] || fail "$how: kept is still there: $(cat "$T/err")"
	{ printf x && tail -c +2 "$T/large"; } | cmp - "$W/large" || fail "$how: large was not applied"
	"$CALLGATE" ws discard "$id" || fail "$how: discard"

	fresh
	id=$("$CALLGATE" session create "$how" --profile minimal -w "$W" -r /usr -x /usr/bin) || fail "$how: create"
	"$CALLGATE" session exec "$id" -- sh -c 'printf x | dd of=large conv=notrunc status=none'
	"$CALLGATE" session checkpoint "$id" >"$T/out" || fail "$how: checkpoint"
	shared "$(find "$TMPDIR/callgate-0/workspaces/$id/checkpoints" -name large | head -n 1)"
	"$CALLGATE" session exec "$id" -- sh -c 'printf yyyy | dd of=large conv=notrunc status=none'
	"$CALLGATE" session restore "$id" 1 || fail "$how: restore"
	"$CALLGATE" session exec "$id" -- cat large >"$T/now"
	{ printf x && tail -c +2 "$T/large"; } | cmp - "$T/now" || fail "$how: not restored"
	"$CALLGATE" session stop "$id"
	"$CALLGATE" ws discard "$id" || fail "$how: discard after the session"
done
