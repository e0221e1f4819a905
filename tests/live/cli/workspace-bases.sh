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
	[ "$(ws list --json 2>"$T/err" | jq -r .id | sort)" = "$(printf '%s\n' "$@" | sort)" ] ||
		fail "$what: $(ws list), not $*"
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
ws list 2>&1 >/dev/null | grep -qF "mv -T $private/workspaces/ID $BASE/workspaces/ID" ||
	fail "not told: $(ws list 2>&1)"
ws discard "$second" # then there is no directory of workspaces
mkdir -m 700 "$BASE/workspaces" && mv -T "$private/workspaces/$first" "$BASE/workspaces/$first" # as the page says
lists "brought back" "$first"
[ -z "$(ws list 2>&1 >/dev/null)" ] || fail "told: $(ws list 2>&1 >/dev/null)"

# A program that may write in TMPDIR makes what looks like a directory of runs, with a workspace of another directory:
# beside the one that runs use now, where it would come first if that has a name of its own, and of another TMPDIR.
mkdir -m 755 "$T/outside" "$T/other"
info="{\"version\": 2, \"dirs\": [{\"dir\": \"$T/outside\", \"inode\": $(stat -c %i "$T/outside")}], \"time\": 1}"
forge() # DIRECTORY: the program tries to
{
	there=$1/workspaces/aaaabbbbccccdddd
	cow "umask 077; for name in upper work root user trusted; do mkdir -p $there/0/\$name; done; mkdir -p made/x
		echo pwned >$there/0/upper/pwned; echo '$info' >$there/info.json
		mv made $1; ln -s made $1; :" \
		-W "$TMPDIR" -W "$T/other"
	[ ! -e "$1" ] || fail "made by a program: $(ls -ld "$1")"
}
forge "$BASE-000001"
forge "$T/other/$(basename "$BASE")"
chmod 755 "$BASE"
forge "$BASE-000000"
chmod 700 "$BASE"
cow 'mkdir callgate-x callgate-1234567 && echo y >y-callgate-0' # other names are no matter
[ -d "$W/y" ] || ws diff "$id" | grep -qx 'A  callgate-x/' || fail "another name: $(ws diff "$id")"

# A mount can tell any owner: FUSE, which others can mount over a directory of theirs.
if [ "$(id -u)" = 0 ] && mount -t tmpfs -o mode=700 tmpfs "$BASE" 2>"$T/err"; then
	cg run --profile minimal -w "$W" -x /usr/bin -r /usr -- /bin/true 2>"$T/said"
	umount "$BASE"
	grep -q 'cannot be used as scratch space: something is mounted there' "$T/said" ||
		fail "mount: $(cat "$T/said")"
fi

# What something else has made there is not looked at while runs use another one.
planted=$BASE-000001/workspaces/aaaabbbbccccdddd
(umask 077 && mkdir -p "$planted")
cp -a "$BASE/workspaces/$first/info.json" "$planted/" && cp -a "$BASE/workspaces/$first/0" "$planted/" 2>/dev/null
ws list | grep -q aaaabbbbccccdddd && fail "listed: $(ws list)"
ws apply aaaabbbbccccdddd >"$T/out" 2>"$T/err" && fail "applied: $(cat "$T/out")"
rm -r "$BASE-000001"
discard_all
TMPDIR=$T/other discard_all
chmod -R u+rwX "$BASE"-*; rm -r "$BASE"-*
