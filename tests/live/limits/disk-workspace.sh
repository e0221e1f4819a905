#!/bin/bash
# limits.disk counts what an overlay of --cow copies when a file is first changed, before it copies: a call that would
# take too much is refused, and ends the run. A file of holes takes nothing, one that is emptied is not copied, and what
# was copied counts once.
. "$(dirname "$0")/../lib.sh"
need jq "$PYTHON" fallocate
W=$T/w
mkdir "$W"

# with LIMIT CODE: runs Python code in the workspace; the result in $T/result
with()
{
	cg run --json --cow --profile minimal --disk "$1" -w "$W" -r /usr -x /usr/bin -- "$PYTHON" -c "import os
$2" >"$T/result" 2>"$T/err"
}

discard()
{
	local id
	id=$(jq -r '.workspace.id // empty' "$T/result")
	[ -z "$id" ] || "$CALLGATE" ws discard "$id"
}

refused() # LIMIT CODE: the run ends by the limit, and the large file is in no layer
{
	with "$1" "$2" && fail "not refused: $2"
	jq -e '.status == "limit"' "$T/result" >/dev/null ||
		fail "$2: $(head -c 700 "$T/result") $(cat "$T/err")"
	local used
	used=$(du -s -B1M "$TMPDIR/callgate-$(id -u)/workspaces" | cut -f 1)
	[ "$used" -lt 100 ] || fail "$2: copied $used MB"
	discard
}

allowed() # LIMIT CODE
{
	with "$1" "$2" || fail "$2: $(head -c 700 "$T/result") $(cat "$T/err")"
	discard
}

fallocate -l 300M "$W/large" || skip "no fallocate here"
truncate -s 10G "$W/holes"
ln "$W/large" "$W/other"
head -c 3M /dev/zero | tee "$W/single" >"$W/small"
for ((i = 0; i < 10; i++)); do ln "$W/small" "$W/small$i"; done
for ((i = 0; i < 60; i++)); do head -c 4096 /dev/zero >"$W/s$i"; done
mv "$W/other" "$T/other" # a second name outside
rm "$T/other"

with 100M "print('ran')"
[ "$(jq -r .error.code "$T/result")" != view_failed ] || fail "refused: $(cat "$T/err")"
by=$(jq -r .workspace.by "$T/result")
discard
[ "$by" = overlay ] || skip "no overlay here: nothing is copied when a file is first changed"
for code in 'open("large", "r+b")' 'os.chmod("large", 0o600)' 'os.utime("large", (1, 1))' 'os.link("large", "l2")' \
	'os.rename("large", "l2")' 'os.truncate("large", 10)' 'os.setxattr("large", "user.a", b"b")' \
	'os.chown("large", os.getuid(), os.getgid())' 'os.fchmod(os.open("large", os.O_RDONLY), 0o600)' \
	'f = os.open("large", os.O_PATH); os.chmod("large", 0o600)'; do
	refused 100M "$code"
done
allowed 100M 'f = open("holes", "r+b"); f.seek(5 << 30); f.write(b"x"); f.close(); os.chmod("holes", 0o600)'
allowed 100M 'open("large", "wb").write(b"x" * 100)'
allowed 100M 'os.unlink("large"); open("large", "wb").write(b"x" * 100)'
allowed 100M 'print(len(open("large", "rb").read(1000)))'
# What was copied counts once, however often it is opened.
allowed 12M 'for i in range(50):
	f = open("s1", "ab"); f.write(b"x"); f.close(); os.chmod("s1", 0o600 + i % 2)'
# So does what was copied for link(2).
for name in single small0; do
	allowed 5M "os.link('$name', 'l'); os.chmod('l', 0o600); os.close(os.open('$name', os.O_RDWR))"
done
refused 12M 'for i in range(10):
	os.link("small%d" % i, "l%d" % i)'
# Each name of a file of several names is copied by itself, and what is written to it is measured.
refused 12M 'for i in range(10):
	os.chmod("small%d" % i, 0o600)'
refused 12M 'for i in range(10):
	f = open("small%d" % i, "ab"); f.write(b"x"); f.close()'
refused 12M 'for i in range(10):
	f = os.open("small%d" % i, os.O_PATH); os.chmod("small%d" % i, 0o600)'
refused 30M 'a = open("small0", "ab"); b = open("small1", "ab")
for i in range(200):
	b.write(b"x" * (1 << 20)); b.flush()'
# Many small files, by several processes.
refused 200K 'for p in range(4):
	if os.fork() == 0: break
for i in range(60):
	try: os.chmod("s%d" % i, 0o640)
	except OSError: pass
for i in range(60):
	f = open("s%d" % i, "ab"); f.write(b"x")'
[ "$(stat -c %s "$W/large")" = $((300 << 20)) ] || fail "the directory has changed"
