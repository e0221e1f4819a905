#!/bin/bash
# A program that races renames against copies of the overlay, and full disks: nothing outside changes, nothing is lost.
# With CHECK_LONG=1 also 1,000,000 new files, and how long ws diff takes for them.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/workspace-lib.sh"
need jq "$PYTHON"
W=$T/w

cow() # PROGRAM…: the result in $T/result, the workspace in $id
{
	cg run --json --cow --profile minimal -w "$W" -r /usr -x /usr/bin -r "$T/race.py" -- "$@" \
		>"$T/result" 2>"$T/err"
	id=$(jq -r '.workspace.id // empty' "$T/result")
}

ws() # STATUS VERB ARGUMENT…: stdout in $T/out, stderr in $T/said
{
	local expected=$1 status=0
	shift
	cg ws "$@" >"$T/out" 2>"$T/said" || status=$?
	[ $status = "$expected" ] || fail "ws $*: status $status, not $expected: $(head -c 1000 "$T/said")"
}

# Threads rename, write, link, remove and replace the same files, each of which takes a while to copy.
cat >"$T/race.py" <<'END2'
import hashlib, os, sys, threading
def play(me):
    for turn in range(60):
        for what in (lambda: os.rename('f%d' % (turn % 4), 'f%d' % ((turn + me) % 4)),
                     lambda: os.close(os.open('f%d' % (me % 4), os.O_WRONLY | os.O_APPEND)),
                     lambda: os.chmod('f%d' % (turn % 4), 0o600 + me), lambda: os.truncate('f%d' % (turn % 4), 2000000),
                     lambda: os.rename('d/x%d' % (turn % 8), 'x%d' % me), lambda: os.rename('d', 'e'),
                     lambda: os.link('f%d' % (turn % 4), 'l%d' % me), lambda: os.unlink('l%d' % me),
                     lambda: os.symlink('/etc/passwd', 'f%d' % (turn % 4)), lambda: os.unlink('f%d' % me)):
            try:
                what()
            except OSError:
                pass
threads = [threading.Thread(target=play, args=(me,)) for me in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
for top, dirs, files in os.walk('.'):
    dirs.sort()
    for name in sorted(files):
        path = os.path.join(top, name)
        at = os.lstat(path)
        print(path, oct(at.st_mode), at.st_size, os.readlink(path) if os.path.islink(path) else
              hashlib.sha256(open(path, 'rb').read()).hexdigest())
END2
mkdir -p "$W/d"
for i in 0 1 2 3; do head -c 3M /dev/urandom >"$W/f$i"; done
for i in {0..7}; do echo "$i" >"$W/d/x$i"; done
picture "$W" >/dev/null
picture "$W" >"$T/before"
sleep 0.02
cow "$PYTHON" "$T/race.py"
if [ "$(jq -r .error.code "$T/result")" = view_failed ]; then
	layer mountns && layer userns && [ "$(stat -f -c %T "$TMPDIR")" != overlayfs ] &&
		fail "refused, although there are namespaces: $(cat "$T/err")"
	exit $live_failed
fi
jq -e '.status == "ok"' "$T/result" >/dev/null || fail "the race: $(cat "$T/result")"
picture "$W" | cmp -s - "$T/before" || fail "changed by the race: $(picture "$W" | diff - "$T/before")"
jq -j .stdout "$T/result" >"$T/seen"
ws 0 apply --allow-executed "$id"
(cd "$W" && sed -i '/^threads = /d; /^for thread/d' "$T/race.py" && "$PYTHON" "$T/race.py") |
	diff "$T/seen" - >"$T/differs" || fail "after the race, ws apply: $(cat "$T/differs")"
ws 0 diff "$id"
ws 0 discard "$id"

# full SIZE DIR COMMAND…: with a file system of that size at DIR.
full()
{
	local size=$1 dir=$2
	shift 2
	mount -t tmpfs -o "size=$size" full "$dir" 2>/dev/null || {
		echo "not checked: full disks, for want of a mount"
		return
	}
	"$@"
	umount "$dir" || fail "in use: $dir"
}

# The workspace is full: the program gets ENOSPC, also for a file that cannot be copied; the rest can be applied.
fill_workspace()
{
	picture "$W" >/dev/null
	picture "$W" >"$T/before"
	TMPDIR=$T/full
	# shellcheck disable=SC2016 # the program's shell expands it
	cow /bin/sh -c 'echo kept >kept; head -c 1M /dev/zero >part; (: >>large) && echo copied; rm small
		cat </dev/zero >rest; cp kept last || echo full'
	if [ "$(jq -r .error.code "$T/result")" != view_failed ]; then # before Linux 6.6, tmpfs has no such attributes
		[ "$(jq -r .stdout "$T/result")" = full ] ||
			fail "a full workspace: $(jq -c '[.stdout, .stderr]' "$T/result")"
		picture "$W" | cmp -s - "$T/before" || fail "changed: $(picture "$W" | diff - "$T/before")"
		ws 125 apply "$id" kept part small
		grep -q 'cannot write the journal: No space' "$T/said" || fail "no room: $(cat "$T/said")"
		rm "$TMPDIR"/callgate-*/workspaces/"$id"/0/upper/rest
		ws 0 apply "$id" kept part small
		{ [ "$(cat "$W/kept")" = kept ] && [ "$(stat -c %s "$W/part")" = 1048576 ] && [ ! -e "$W/small" ]; } ||
			fail "not applied: $(ls -l "$W")"
		ws 0 discard "$id"
	fi
	rm -rf "$TMPDIR"/callgate-*
	TMPDIR=$T/tmp
}
# The directory is full: what cannot be put is told, nothing is deleted, nothing is left half-made.
fill_directory()
{
	echo old >"$W/old"
	sleep 0.02
	cow /bin/sh -c 'head -c 20M /dev/zero >new; rm old; echo x >small'
	ws 125 apply "$id"
	grep -q 'No space left' "$T/said" || fail "not told: $(cat "$T/said")"
	{ [ "$(cat "$W/old")" = old ] && [ "$(cat "$W/small")" = x ] && [ ! -e "$W/new" ]; } ||
		fail "full: $(ls -la "$W")"
	[ "$(find "$W" -name '.callgate-*')" = "" ] || fail "left: $(ls -la "$W")"
	mount -o remount,size=40M "$W"
	ws 0 apply "$id"
	[ "$(stat -c %s "$W/new")" = 20971520 ] || fail "not applied: $(ls -l "$W")"
	ws 0 discard "$id"
}
rm -rf "$W"
mkdir "$W" "$T/full"
head -c 9M /dev/zero >"$W/large"
echo small >"$W/small"
if [ "$(id -u)" = 0 ]; then
	full 8M "$T/full" fill_workspace
	rm -rf "$W"
	mkdir "$W"
	full 4M "$W" fill_directory
fi

[ -n "${CHECK_LONG:-}" ] || exit $live_failed
LIVE_TIMEOUT=3600
rm -rf "$W"
mkdir "$W"
cow "$PYTHON" -c '
import os
for i in range(1000):
    os.mkdir("d%d" % i)
    for j in range(999 if i < 999 else 998):
        open("d%d/%d" % (i, j), "w").close()'
[ -x /usr/bin/time ] || exit $live_failed
/usr/bin/time -f '%e s, %M KiB' "$CALLGATE" ws diff "$id" 2>"$T/said" | wc -l
cat "$T/said"
ws 0 discard "$id"
