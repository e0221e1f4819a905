#!/bin/bash
# session create --cow: the programs of a session write to one workspace, and see what earlier ones wrote; the directory
# of -w stays byte-identical, times included; callgate ws shows and applies it when the session has ended.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../cli/workspace-lib.sh"
need jq
W=$T/w
mkdir -p "$W/a/b"
echo one >"$W/one"
echo two >"$W/a/two"

session()
{
	timeout -k 5 "$LIVE_TIMEOUT" "$CALLGATE" session "$@"
}

create() # sets $id
{
	id=$(session create "${WORKSPACE_COW:---cow}" --profile minimal -w "$W" -r /usr -x /usr/bin -- /bin/sh \
		2>"$T/err")
}

inside() # COMMAND: in the session
{
	session exec "$id" -- /bin/sh -c "$1"
}

picture "$W" >/dev/null
picture "$W" >"$T/before"
create || fail "refused: $(cat "$T/err")"
session create --cow 2>"$T/err" && fail "no -w: not refused"
grep -q 'session create: --cow .* name one with -w' "$T/err" || fail "no -w: $(cat "$T/err")"
inside 'echo changed >one; rm a/two; echo new >new' || fail "the first program"
[ "$(inside 'cat one new; ls a')" = "$(printf 'changed\nnew\nb')" ] || fail "the second program sees $(inside 'ls -lR')"
"$CALLGATE" ws diff "$id" 2>"$T/err" && fail "compared while the session goes on"
grep -q 'has not ended' "$T/err" || fail "in use: $(cat "$T/err")"
session stop "$id" || fail "stop"
picture "$W" | cmp -s - "$T/before" || fail "changed: $(picture "$W" | diff - "$T/before")"
"$CALLGATE" ws diff "$id" >"$T/diff"
printf 'D  a/two\nA  new\nM  one  content, time\n' | cmp -s - "$T/diff" || fail "diff: $(cat "$T/diff")"
"$CALLGATE" ws apply "$id" >/dev/null || fail "apply"
[ "$(cat "$W/one" "$W/new")" = "$(printf 'changed\nnew')" ] || fail "applied: $(ls -lR "$W")"
[ ! -e "$W/a/two" ] || fail "a removed file is there"
"$CALLGATE" ws discard "$id" || fail "discard"
