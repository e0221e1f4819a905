#!/bin/bash
# The scratch directory lies in a tree that the program may write. The program cannot see it by any name, and cannot
# move any directory above it.
. "$(dirname "$0")/../lib.sh"
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
 "filesystem": {"read": ["/usr", "/bin", "/lib", "/lib64"], "exec": ["/usr/bin", "/bin"],
  "write": ["$T/grant"], "redirect": [{"from": "/alias", "to": "$T/grant/mid"}]}}
EOF2
cg run -p "$T/policy.json" -w "$T/w" -- /bin/sh -c "ls /alias/callgate-$id || ls $T/grant/mid/callgate-$id" \
	>"$T/out" 2>"$T/err" && fail "listed by a name: $(cat "$T/out")"
[ -s "$T/out" ] && fail "listed: $(cat "$T/out")"
grep -q 'No such file' "$T/err" || fail "not refused as absent: $(cat "$T/err")"

# Its directories are made while the supervisor starts: where that fails nothing runs, and no run's directory is left.
if unshare -m true 2>/dev/null; then
	mkdir "$T/tiny"
	for inodes in 4 5 6; do # the mount's, the base, the run's; then work, tmp, shm
		# shellcheck disable=SC2016 # the inner shell's
		unshare -m sh -c \
			'mount -t tmpfs -o nr_inodes="$2" none "$1" && TMPDIR=$1 "$3" run -- /bin/sh -c "echo ran"
			echo "ended with $?"; find "$1" -name "run-*"' sh "$T/tiny" $inodes "$CALLGATE" \
				>"$T/out" 2>"$T/err"
		[ "$(cat "$T/out")" = "ended with 125" ] || fail "room for $inodes inodes: $(cat "$T/out" "$T/err")"
		grep -q 'No space left' "$T/err" || fail "room for $inodes inodes: $(cat "$T/err")"
	done
fi

# One run's empty directories are the next one's, but not what it did to them.
export TMPDIR=$T/tmp
for change in : 'touch /tmp/a; rm /tmp/a' 'chmod 700 /tmp' 'touch /dev/shm/a' 'mkdir -p work/a' \
	'touch -d 2001-01-01 /tmp'; do
	cg run --profile extended -- /bin/true || fail "a run that changes nothing ended with $?"
	[ -d "$T/tmp/callgate-$id/spare/tmp" ] || fail "a run that changes nothing leaves no directories to the next"
	cg run --profile extended -- /bin/sh -c "$change" || fail "$change: ended with $?"
	# shellcheck disable=SC2016 # the inner shell's
	cg run --profile extended -- /bin/sh -c 'stat -c "%a %h %n" . /tmp /dev/shm; ls -A . /tmp /dev/shm | grep -v :
		[ "$(stat -c %Y /tmp)" -gt 1000000000 ]' >"$T/out" || fail "after $change: ended with $?"
	[ "$(sed '/^$/d' "$T/out")" = "755 2 .
1777 2 /tmp
1777 2 /dev/shm" ] || fail "after $change: $(cat "$T/out")"
done
exit 0
