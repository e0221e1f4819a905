#!/bin/bash
# limits.disk counts what a workspace by copying has: names from the start, files when they are opened; and what
# checkpoints of a session have: what would be too large is refused with both sizes, before much was copied, and leaves
# nothing. So does a full disk.
. "$(dirname "$0")/../lib.sh"
need jq "$PYTHON"
W=$T/w
mkdir -p "$W/a"
head -c 5M /dev/urandom >"$W/large"
ln "$W/large" "$W/a/link"
for i in 1 2 3; do head -c 300K /dev/urandom >"$W/a/$i"; done

all='import os
for top, _, names in os.walk("."):
	for name in names:
		open(os.path.join(top, name), "rb").close()
'
with() # LIMIT CODE [UNOPENED]: runs Python code in a copy, in which all files were opened; the result in $T/result
{
	local before=$all
	[ -z "${3:-}" ] || before='import os
'
	cg run --json --cow=copy --profile minimal --disk "$1" -w "$W" -r /usr -x /usr/bin -- \
		"$PYTHON" -c "$before$2" >"$T/result" 2>"$T/err"
}

discard()
{
	local id
	id=$(jq -r '.workspace.id // empty' "$T/result")
	[ -z "$id" ] || "$CALLGATE" ws discard "$id"
}

ends() # STATUS LIMIT CODE
{
	with "$2" "$3"
	[ "$(jq -r .status "$T/result")" = "$1" ] ||
		fail "not $1 with $2: $3: $(head -c 700 "$T/result") $(cat "$T/err")"
	discard
}

used() # FILTER: of what was used in the last run
{
	jq -e ".limits.disk | $1" "$T/result" >/dev/null || fail "used: $(jq -c .limits.disk "$T/result")"
}

# The copy takes 5.9 MB and 7 names. What is not opened does not count.
ends limit 2M 'print(1)'
with 2M 'open("a/1").close(); print(1)' unopened
[ "$(jq -r .status "$T/result")" = ok ] || fail "unopened: $(head -c 700 "$T/result") $(cat "$T/err")"
used '.peak > 300000 and .peak < 500000'
discard
# Too many names: refused with both sizes, and nothing is left.
mkdir "$W/names" && touch "$W/names/"{1..80}
with 64K 'print(1)'
rm -r "$W/names"
grep -Eq 'copying takes [0-9.]+K, and limits\.disk is 64K' "$T/err" ||
	fail "sizes: $(cat "$T/err")"
[ "$(jq -r .error.code "$T/result")" = view_failed ] || fail "not refused: $(cat "$T/result")"
[ -z "$(ls "$TMPDIR"/callgate-*/workspaces 2>/dev/null)" ] || fail "left: $(ls -R "$TMPDIR")"
# What is left of the limit can be written, and no more.
write='open("new", "wb").write(b"x" * (1 << 20))'
ends ok 7500K "$write"
used '.peak > 6900000 and .limit == 7680000'
ends limit 6500K "$write"
# What is removed, also what a file was, does not count any more: both names of a file, or none.
ends ok 8500K 'for i in range(8):
	open("new", "wb").write(b"x" * (1 << 20))
	os.rename("new", "a/1")'
ends limit 7500K "os.unlink('large')
open('new', 'wb').write(b'x' * (3 << 20))"
ends ok 7500K "os.unlink('large'); os.unlink('a/link')
open('new', 'wb').write(b'x' * (6 << 20))"
ends limit 7500K "f = open('large'); os.unlink('large'); os.unlink('a/link') # it is open
open('new', 'wb').write(b'x' * (3 << 20))
import time
time.sleep(30)"
ends ok 7500K "open('large', 'wb').close()
open('new', 'wb').write(b'x' * (6 << 20))"

# ---- checkpoints of a session ----
session()
{
	timeout -k 5 "$LIVE_TIMEOUT" "$CALLGATE" session "$@"
}

refuses() # TEXT COMMAND…
{
	local text=$1
	shift
	"$@" >/dev/null 2>"$T/err" && fail "$*: not refused"
	grep -qE -- "$text" "$T/err" || fail "$*: $(cat "$T/err")"
}

inside() # COMMAND: in the session
{
	session exec "$id" -- /bin/sh -c "$1"
}

checkpoints() # the names of all entries of the directory of checkpoints, which are none of a checkpoint that failed
{
	(cd "$TMPDIR/callgate-$(id -u)/workspaces/$id/checkpoints" && echo .[a-z]* *)
}

rm "$W/large" "$W/a/link" "$W"/a/[23]
for cow in --cow --cow=copy; do
	id=$(session create $cow --disk 6M --profile minimal -w "$W" -r /usr -x /usr/bin -- /bin/sh) || die "create"
	session checkpoint "$id" none >/dev/null || fail "none"
	inside 'head -c 2M /dev/zero | tr "\0" x >new'
	session checkpoint "$id" first >/dev/null || fail "first"
	session checkpoint "$id" again >/dev/null || fail "again: it shares all files"
	inside 'echo 2 >>new'
	refuses "takes more than the 1\.[0-9]+M that are left of limits\.disk, which is 6M" \
		session checkpoint "$id" second
	[ "$(checkpoints)" = ".latest again first none" ] || fail "left: $(checkpoints)"
	session checkpoint --remove "$id" first
	refuses "that are left" session checkpoint "$id" second # the other one has the file still
	# A removal that fails frees nothing. The first call is for what an earlier one has left.
	if command -v strace >/dev/null && strace -o /dev/null true 2>/dev/null; then
		strace -qq -o /dev/null -e trace=unlinkat -e inject=unlinkat:error=EIO:when=2+ \
			"$CALLGATE" session checkpoint --remove "$id" again 2>/dev/null && fail "removed"
		refuses "that are left" session checkpoint "$id" second
	fi
	session checkpoint --remove "$id" again 2>/dev/null # also what is left
	session checkpoint "$id" second >/dev/null || fail "second"
	# What the programs write counts together with the checkpoints.
	inside 'head -c 3M /dev/zero | tr "\0" x >more; sleep 30' 2>/dev/null && fail "not ended"
	while [ -n "$("$CALLGATE" session list --json | jq -r .session)" ]; do sleep 0.05; done
	"$CALLGATE" ws discard "$id" || fail "discard"
done

# What a checkpoint fills, of what was moved, counts as well; and it is made only if there is room for both.
head -c 1M /dev/urandom >"$W/a/moved"
id=$(session create --cow=copy --disk 3M --profile minimal -w "$W" -r /usr -x /usr/bin -- /bin/sh) || die "create"
inside 'mv a b'
session checkpoint "$id" first >/dev/null || fail "first of what was moved"
inside 'head -c 1300K /dev/zero | tr "\0" x >more; sleep 30' 2>/dev/null && fail "what was filled does not count"
while [ -n "$("$CALLGATE" session list --json | jq -r .session)" ]; do sleep 0.05; done
"$CALLGATE" ws discard "$id" || fail "discard"
id=$(session create --cow=copy --disk 2M --profile minimal -w "$W" -r /usr -x /usr/bin -- /bin/sh) || die "create"
inside 'mv a b'
refuses "that are left" session checkpoint "$id" first
inside 'cat b/moved' | cmp - "$W/a/moved" || fail "after a checkpoint that was refused"
session stop "$id"
"$CALLGATE" ws discard "$id" || fail "discard"
rm "$W/a/moved"

# ---- a full disk ----
if [ "$(id -u)" = 0 ] && mkdir "$T/small" && mount -t tmpfs -o size=11M small "$T/small" 2>/dev/null; then
	trap 'unmounted "$T/small"; live_done' EXIT
	TMPDIR=$T/small
	for cow in --cow --cow=copy; do
		id=$(session create $cow --profile minimal -w "$W" -r /usr -x /usr/bin -- /bin/sh) || die "create"
		inside 'head -c 3M /dev/zero | tr "\0" x >new'
		session checkpoint "$id" first >/dev/null || fail "first"
		inside 'echo 2 >>new; rm a/1; head -c 11M /dev/zero >fill' 2>/dev/null && fail "not full"
		refuses "No space left on device" session checkpoint "$id" second
		[ "$(checkpoints)" = ".latest first" ] || fail "left: $(checkpoints)"
		inside 'tail -c 2 new' | grep -qx 2 || fail "the program's file"
		session restore "$id" first 2>"$T/err" || session restore "$id" first || fail "restore: $(cat "$T/err")"
		[ "$(inside 'wc -c <new; ls fill a/1' 2>/dev/null)" = "$(printf '%s\na/1' $((3 << 20)))" ] ||
			fail "restored"
		session stop "$id"
		"$CALLGATE" ws discard "$id" || fail "discard"
	done
	unmounted "$T/small"
	trap live_done EXIT
fi
