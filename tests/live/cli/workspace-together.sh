#!/bin/bash
# Workspaces of one directory that are applied together, a workspace that is discarded or recovered while it is applied,
# or applied while its program runs, and something that is mounted in the directory meanwhile.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/workspace-lib.sh"
need jq strace
W=$T/w
strace -o /dev/null true 2>/dev/null || skip "strace may trace nothing here"

play() # COMMAND: the workspace is $id
{
	run_in_workspace "$1"
	ws diff "$id" >/dev/null 2>&1 # makes the layer of a copy
}

fresh()
{
	rm -rf "$W"
	mkdir -p "$W/d"
	for name in a b d/x; do echo "old $name" >"$W/$name"; done
	later
}

# stopped VERB ARGUMENT…: callgate ws, which stops when its first file has got its name; in the background
stopped()
{
	begin_stopped renameat,renameat2:1 ws "$@"
}

ends() # STATUS WHAT: of what was stopped, which goes on
{
	local status=0
	go_on || status=$?
	[ $status = "$1" ] || fail "$2: status $status, not $1: $(cat "$T/out" "$T/said")"
}

says() # STATUS TEXT VERB ARGUMENT…
{
	local expected=$1 text=$2 status=0
	shift 2
	ws "$@" >"$T/out" 2>&1 || status=$?
	[ $status = "$expected" ] || fail "ws $*: status $status, not $expected: $(cat "$T/out")"
	grep -qF -- "$text" "$T/out" || fail "ws $*: not said: $text: $(cat "$T/out")"
}

# Two workspaces of one directory: the second apply does not overwrite what the first one is about to write.
fresh
play 'echo one >a; echo one >b; rm d/x'
one=$id
play 'echo two >a; echo two >y'
two=$id
stopped apply "$one"
says 125 'another callgate ws' apply "$two"
says 125 'another callgate ws' apply --theirs "$two" y
ends 0 "the first of two"
says 3 'a: conflict' apply "$two"
[ "$(cat "$W/a")" = one ] || fail "overwritten: $(cat "$W/a")"
[ "$(cat "$W/y")" = two ] || fail "not applied: $(ls -R "$W")"
discard_all

# While it is applied, a workspace can be neither discarded, recovered nor applied; it can be looked at or kept after.
fresh
play 'echo one >a; echo one >b'
stopped apply "$id"
for verb in discard recover apply diff; do
	says 125 'in use' $verb "$id"
done
ws list | grep -q "$id.*has not ended" || fail "not in use: $(ws list)"
ends 0 "applied meanwhile"
[ "$(cat "$W/a" "$W/b")" = $'one\none' ] || fail "not applied: $(ls -R "$W")"
ws discard "$id" || fail "discard"

# So it is while its program runs.
fresh
begin_run
for verb in discard recover apply diff; do
	says 125 'in use' $verb "$id"
done
end_run
discard_all

# An interrupted apply of the one, and one of the other: recover leaves what that has made.
fresh
play 'rm a; mkdir a; echo one >a/in; echo one >b'
one=$id
play 'echo two >b'
two=$id
strace -qq -o /dev/null -e trace=unlinkat -e inject=unlinkat:signal=KILL:when=1 "$CALLGATE" ws apply "$one" \
	>/dev/null 2>&1 &
wait $! 2>/dev/null
ws apply "$two" >"$T/out" 2>&1
b=$(cat "$W/b")
ws recover "$one" >"$T/out" 2>&1 || fail "recover: $(cat "$T/out")"
[ "$(cat "$W/a" "$W/b")" = $'old a\n'"$b" ] || fail "recover has changed more: $(ls -lR "$W")"
says 0 '' apply --theirs "$one"
discard_all

# What is mounted in the directory since is neither written to nor removed.
if [ "$(id -u)" = 0 ]; then
	fresh
	play 'rm -r d; echo one >a; echo new >new'
	if mount -t tmpfs tmpfs "$W/d" 2>/dev/null; then
		echo mounted >"$W/d/x"
		! ws apply "$id" >"$T/out" 2>&1 || fail "mounted: status 0: $(cat "$T/out")"
		[ "$(cat "$W/d/x")" = mounted ] || fail "mounted: changed: $(ls -lR "$W")"
		umount "$W/d"
		[ "$(cat "$W/d/x")" = 'old d/x' ] || fail "mounted: changed below: $(ls -lR "$W")"
		says 0 '' apply --theirs "$id"
		[ ! -e "$W/d" ] || fail "unmounted: not applied: $(ls -lR "$W")"
	fi
	ws discard "$id" || fail "discard"
fi
exit $live_failed
