#!/bin/bash
# A hostile program in a workspace of a directory that is in another one, which the program may write, both ways: what
# the policy denies stays unread, the directory stays as it is by all of its names, and nothing gets a set-id bit.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/workspace-lib.sh"
need jq "$PYTHON"
D=$T/d
cat >"$T/attack.py" <<'END'
import ctypes, os, sys
libc, d = ctypes.CDLL(None, use_errno=True), sys.argv[1]
a, outer = d + '/p/a', d + '/p'
before = os.open(a, os.O_RDONLY)          # from before anything is moved
above = os.open(outer, os.O_RDONLY)

def attempt(what):
    try:
        return what()
    except OSError as error:
        return error

def swap(left, right):
    return libc.renameat2(-100, left.encode(), -100, right.encode(), 2)

def spoil(path):
    with open(path, 'a') as file:
        file.write('SPOILT')

def deny(path):
    with open(path) as file:
        return file.read()

ways = [a, d + '/q/a', d + '/link/a', d + '/link2', outer + '/./a', d + '/q', d + '/hard', '/proc/self/cwd/../a',
        '/proc/self/fd/%d' % before, '/proc/self/fd/%d/../a' % before, '/proc/self/fd/%d/a' % above,
        '/proc/self/root' + a, a + '/sub/../../a', d + '/moved', d + '/p2/a', d + '/p/b']
moves = [lambda: None,
         lambda: os.rename(outer, d + '/q'), lambda: swap(outer, d + '/other'), lambda: os.rename(a, d + '/moved'),
         lambda: swap(a, outer + '/b'), lambda: os.symlink(outer, d + '/link'), lambda: os.symlink(a, d + '/link2'),
         lambda: os.link(a + '/file', d + '/hard'), lambda: os.link(a + '/secret', a + '/hard'),
         lambda: os.link(a + '/secret', d + '/hard'), lambda: os.rename(a + '/secret', d + '/q'),
         lambda: os.symlink('secret', a + '/visible'), lambda: os.rename(a + '/sub', a + '/bus'),
         lambda: os.rename(a + '/sub', d + '/q'), lambda: os.chmod(a + '/secret', 0o666), lambda: os.rmdir(a),
         lambda: os.mkdir(d + '/p2'), lambda: os.rename(outer + '/b', a + '/b'), lambda: os.chdir(a),
         lambda: os.chdir(a + '/sub'), lambda: os.chmod(a + '/suid', 0o4755), lambda: os.chmod(a + '/file', 0o6755),
         lambda: os.setxattr(a + '/file', 'security.capability', bytes.fromhex('01000002ffffffff') + bytes(12)),
         lambda: os.setxattr(a, 'trusted.overlay.redirect', b'/sub'),
         lambda: os.setxattr(a, 'user.overlay.opaque', b'y'),
         lambda: os.mknod(a + '/device', 0o20666, os.makedev(1, 3))]
for move in moves:
    attempt(move)
    for way in ways:
        for name in 'secret', 'visible', 'hard', 'sub/deep secret', 'bus/deep secret':
            got = attempt(lambda: deny(os.path.join(way, name)))
            if isinstance(got, str) and 'SECRET' in got:
                print('READ', way, name)
        for name in 'file', 'new', 'sub/file', 'suid', 'secret':
            attempt(lambda: spoil(os.path.join(way, name)))
            attempt(lambda: os.truncate(os.path.join(way, name), 3))
for fd in before, above:
    attempt(lambda: os.unlink('file', dir_fd=fd))
    attempt(lambda: os.close(os.open('a/by fd', os.O_CREAT | os.O_WRONLY, dir_fd=fd)))
for top, dirs, files in os.walk(d):
    for name in files:
        mode = attempt(lambda: os.lstat(os.path.join(top, name)).st_mode)
        if isinstance(mode, int) and mode & 0o6000:
            print('SET-ID', top, name)
for top, dirs, files in os.walk(sys.argv[2]):  # the workspaces, whose layers and copies are below TMPDIR
    print('LAYER', top, dirs, files)
END
for how in --cow-dir "--cow=copy --cow-dir"; do
	rm -rf "$D" && mkdir -p "$D/p/a/sub" "$D/p/b" "$D/other/a" "$T/w"
	for file in file sub/file suid; do echo one >"$D/p/a/$file"; done
	chmod 4755 "$D/p/a/suid"
	for file in secret "sub/deep secret"; do echo SECRET >"$D/p/a/$file"; done
	picture "$D/p/a" >/dev/null
	picture "$D/p/a" >"$T/before"
	jq -n --arg d "$D" --arg t "$T" --arg tmp "$TMPDIR" '{version: 1, extends: ["minimal"], filesystem: {
		read: ["/usr", "/etc", $t, $tmp], exec: ["/usr"], write: [$d, $d + "/p/a"],
		deny: [$d + "/p/a/secret", $d + "/**/deep secret"]}}' >"$T/p.json"
	# shellcheck disable=SC2086 # two words
	cg run --json -p "$T/p.json" $how "$D/p/a" -w "$T/w" -- \
		"$PYTHON" "$T/attack.py" "$D" "$TMPDIR/callgate-$(id -u)" >"$T/result" 2>"$T/err"
	if [ "$(jq -r .error.code "$T/result")" = view_failed ]; then
		grep -q 'cannot be kept as it is' "$T/err" || fail "$how: $(cat "$T/err")"
		continue
	fi
	[ "$(jq -r '.status + .stdout' "$T/result")" = ok ] ||
		fail "$how: $(jq -r '.status + .stdout + .stderr' "$T/result")"
	picture "$D/p/a" | diff - "$T/before" >"$T/differs" || fail "$how: changed: $(cat "$T/differs")"
	id=$(jq -r .workspace.id "$T/result")
	cg ws diff "$id" >"$T/diff" 2>"$T/err"
	grep -q 'file' "$T/diff" || fail "$how: nothing was written: $(cat "$T/diff" "$T/err")"
	cg ws apply --theirs "$id" >"$T/applied" 2>&1
	find "$D" ! -name suid -perm /6000 | grep . && fail "$how: a set-id bit was applied"
	cg ws discard "$id" || fail "$how: discard"
done
