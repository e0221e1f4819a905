#!/bin/bash
# While callgate-UID in TMPDIR cannot be used, runs have callgate-UID-XXXXXX. Afterwards a workspace is not looked for
# there, because a program that may write in TMPDIR could have made the directory; mv(1) brings it back.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/workspace-lib.sh"
need jq
W=$T/w
BASE=$TMPDIR/callgate-$(id -u)

cow() # COMMAND [OPTION…]: sets $id
{
	cg run --json "${WORKSPACE_COW:---cow}" --profile minimal -w "$W" -r /usr -x /usr/bin "${@:2}" -- \
		/bin/sh -c "$1" >"$T/result" 2>"$T/err" || fail "$1: $(cat "$T/err")"
	id=$(jq -r .workspace.id "$T/result")
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
private=$(echo "$BASE"-*)
[ -d "$private/workspaces/$first" ] || die "where runs are: $(ls -l "$TMPDIR")"
lists "in use" "$first"
chmod 700 "$BASE"
cow 'echo second >three'
second=$id
lists "the usual name again" "$second"
mv "$private/workspaces/$first" "$BASE/workspaces/"
lists "brought back" "$first" "$second"

# A program that may write in TMPDIR makes what looks like a directory of runs, with a workspace of another directory.
mkdir "$T/outside"
inode=$(stat -c %i "$T/outside")
there=$BASE-000001/workspaces/aaaabbbbccccdddd
info="{\"version\": 2, \"dirs\": [{\"dir\": \"$T/outside\", \"inode\": $inode}], \"time\": 1}"
cow "umask 077; mkdir -p $there/0/upper $there/0/work $there/0/root $there/0/user $there/0/trusted
	echo pwned >$there/0/upper/pwned
	echo '$info' >$there/info.json" \
	-W "$TMPDIR"
[ -s "$there/info.json" ] || die "the program has made nothing: $(cat "$T/result")"
lists "made by a program" "$first" "$second" "$id"
ws apply --theirs --allow-executed aaaabbbbccccdddd >"$T/out" 2>"$T/err" && fail "applied: $(cat "$T/out")"
[ -z "$(ls "$T/outside")" ] || fail "a program has written past its policy: $(ls "$T/outside")"
rm -r "$BASE-000001" "$private"
discard_all
