#!/bin/bash
# The scratch space lies in a tree the program may write: it is not there, by no name, and nothing above it can be moved.
. "$(dirname "$0")/lib.sh"
mkdir -p "$T/grant/mid"
export TMPDIR=$T/grant/mid LIVE_MAY_LEAVE=1
id=$(id -u)
cat >"$T/grant/attack.sh" <<EOF2
cd "$T/grant" || exit 9
mv mid/callgate-$id stolen 2>/dev/null && echo "moved"
mv -T --exchange mid/callgate-$id other 2>/dev/null && echo "exchanged"
mv mid elsewhere 2>/dev/null && echo "moved what it is in"
mkdir -p mid/callgate-$id/x 2>/dev/null && echo "made a directory in it"
echo text >mid/callgate-$id/lock 2>/dev/null && echo "wrote in it"
ls mid/callgate-$id 2>/dev/null && echo "listed"
rm -rf mid/callgate-$id 2>/dev/null
find . -name provided
exit 0
EOF2
mkdir "$T/w"
cg_run extended -W "$T/grant" -w "$T/w" -- /bin/sh "$T/grant/attack.sh" >"$T/out" 2>&1 || fail "it ended with $?"
grep -v 'No such file\|cannot create' "$T/out" >"$T/got"
[ -s "$T/got" ] && fail "it got at the scratch space: $(cat "$T/got")"
[ -e "$T/grant/mid" ] || fail "the directory above it is gone"

# A second name of the same directory hides it as well.
cat >"$T/policy.json" <<EOF2
{"version": 1,
 "filesystem": {"read": ["/usr", "/bin", "/lib", "/lib64"], "exec": ["/usr/bin", "/bin"], "write": ["$T/grant"], "redirect": [{"from": "/alias", "to": "$T/grant/mid"}]}}
EOF2
cg run -p "$T/policy.json" -w "$T/w" -- /bin/sh -c "ls /alias/callgate-$id || ls $T/grant/mid/callgate-$id" \
	>"$T/out" 2>"$T/err" && fail "listed by a name: $(cat "$T/out")"
[ -s "$T/out" ] && fail "listed: $(cat "$T/out")"
grep -q 'No such file' "$T/err" || fail "not refused as absent: $(cat "$T/err")"

# Its directories are made while the supervisor starts: where that fails nothing runs, and nothing is left.
if unshare -m true 2>/dev/null; then
	mkdir "$T/tiny"
	for inodes in 4 5 6; do # the mount's, the base, the run's; then work, tmp, shm
		# shellcheck disable=SC2016 # the inner shell's
		unshare -m sh -c 'mount -t tmpfs -o nr_inodes="$2" none "$1" && TMPDIR=$1 "$3" run -- /bin/sh -c "echo ran"
			echo "ended with $?"; ls -A "$1"' sh "$T/tiny" $inodes "$CALLGATE" >"$T/out" 2>"$T/err"
		[ "$(cat "$T/out")" = "ended with 125" ] || fail "room for $inodes inodes: $(cat "$T/out" "$T/err")"
		grep -q 'No space left' "$T/err" || fail "room for $inodes inodes: $(cat "$T/err")"
	done
fi
exit 0
