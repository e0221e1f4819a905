#!/bin/bash
# Where a file system keeps times in whole seconds (ext4 with inodes of 128 bytes), what was changed outside in the
# second in which the run began is a conflict, and not lost: the base was taken after that.
. "$(dirname "$0")/../lib.sh"
need jq mkfs.ext4 losetup
[ "$(id -u)" = 0 ] || skip "not root: no file system can be mounted"

# shellcheck disable=SC2329 # called by the trap
end()
{
	status=$?
	cd / && unmounted "$T/fs"
	(exit $status)
	live_done
}
truncate -s 64M "$T/image"
mkdir "$T/fs"
mkfs.ext4 -q -I 128 "$T/image" >"$T/err" 2>&1 || die "mkfs.ext4: $(cat "$T/err")"
mount -o loop "$T/image" "$T/fs" 2>"$T/err" || skip "ext4 cannot be mounted: $(cat "$T/err")"
trap end EXIT
W=$T/fs/w
mkdir "$W"
for way in --cow --cow=copy; do
	echo old >"$W/f"
	sleep 2.1
	: >"$T/up"
	until [[ $(date +%N) == 0* ]]; do sleep 0.01; done # a second begins
	# shellcheck disable=SC2094 # the program's output, and its wait for what is done meanwhile
	"$CALLGATE" run --json $way --profile minimal -w "$W" -r /usr -r "$T/up" -x /usr/bin -- \
		/bin/sh -c "cat f >in; until [ -s '$T/up' ]; do sleep 0.02; done; echo new >f" >"$T/result" 2>"$T/err" &
	runner=$!
	began() { cat "$TMPDIR"/callgate-*/workspaces/*/0/{upper,copy}/in 2>/dev/null | grep -q old; }
	awaited began || fail "$way: it has not begun: $(cat "$T/err")"
	echo outside >"$W/f"
	echo go >"$T/up"
	wait "$runner" || fail "$way: the program: $(cat "$T/err")"
	id=$(jq -r .workspace.id "$T/result")
	"$CALLGATE" ws apply "$id" >"$T/out" 2>&1
	[ $? = 3 ] || fail "$way: no conflict: $(cat "$T/out")"
	[ "$(cat "$W/f")" = outside ] || fail "$way: lost: $(cat "$T/out")"
	"$CALLGATE" ws discard "$id" || fail "$way: discard"
	rm -rf "$W"/f*
done
