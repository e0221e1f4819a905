#!/bin/bash
# limits.disk: in whatever way a program fills the disk, the run ends soon after it exceeded the limit. A program that
# stays below the limit notices nothing.
. "$(dirname "$0")/../lib.sh"
need jq
LIMIT_MIB=32
W=$T/w # where the program writes
OVER_MIB=${LIVE_OVER_MIB:-96} # a few MiB on an idle machine; here others are at work

# is_filled WAY [OPTION…]: the run ends by the limit. Returns whether what is left on the disk, and what the result
# says, is little more than that; `over` says it.
is_filled()
{
	local way=$1 left most=$((LIMIT_MIB + OVER_MIB))
	shift
	rm -rf "${W:?}"
	mkdir "$W"
	cg run --json --profile minimal -x "$CASES/cases-fill" -w "$W" --disk ${LIMIT_MIB}M -t 100 "$@" -- \
		"$CASES/cases-fill" "$way" 2048 >"$T/result" 2>"$T/err"
	[ $? = 137 ] || fail "$way: it ended otherwise: $(jq -c '{status, exit_code, stderr, limits}' "$T/result")"
	jq -e --argjson most "$((most << 20))" \
		'.status == "limit" and .limits.disk.hit and .limits.disk.limit < $most' "$T/result" >/dev/null ||
		fail "$way: $(jq -c '{status, disk: .limits.disk}' "$T/result")"
	left=$(du -sm "$W" | cut -f 1)
	over="$way: $(jq -c '.limits.disk' "$T/result"), $left MiB left"
	[ "$left" -le $most ] && [ "$(jq '.limits.disk.peak' "$T/result")" -le $((most << 20)) ]
}

# filled WAY [OPTION…]: on a busy machine the supervisor may be kept waiting for its CPU once, but not each time.
filled()
{
	local tries
	for tries in 1 2 3; do
		if is_filled "$@"; then
			[ -z "${LIVE_VERBOSE:-}" ] || echo "$over"
			return
		fi
		echo "try $tries: $over"
	done
	fail "$over, three times more than ${OVER_MIB} MiB too many"
}

# On a file system on top of another a lease does not tell who has a file mapped. Called below, in a mount namespace.
if [ "${1:-}" = overlay ]; then
	mkdir "$T/lower" "$T/upper" "$T/work" "$T/at"
	mount -t overlay none -o "lowerdir=$T/lower,upperdir=$T/upper,workdir=$T/work" "$T/at" ||
		skip "no overlayfs here"
	W=$T/at/w
	for way in mapped mapped-unlinked pinned unlinked tmpfile; do
		filled $way
	done
	# more than the limit in all, but never at once
	# shellcheck disable=SC2016 # bash inside expands these
	cg run --json --profile minimal -x /usr/bin -w "$W" --disk 24M -t 100 -- bash -c 'set -e; cd "$1"
		for i in 1 2 3 4 5 6; do head -c 10000000 /dev/zero >a; rm a; done' bash "$W" >"$T/result" 2>"$T/err"
	jq -e '.status == "ok"' "$T/result" >/dev/null || fail "again: $(jq -c '{status, stderr,
		disk: .limits.disk}' "$T/result")"
	umount "$T/at"
	exit
fi

# DISK_WAYS: only these, where the others are tried elsewhere
for way in ${DISK_WAYS:-one many unlinked mapped mapped-unlinked pinned falloc falloc-once dirs links copy tmpfile shm \
	rename ignore rest}; do
	filled "$way"
done

# what is refused when nothing is left is on record, with its reason
filled dirs --audit "$T/audit"
audit_has '.syscall == "mkdir" and .errno == "EDQUOT" and .reason == "disk_limit" and .verdict == "deny"'
rm -f "$T/audit"
filled falloc-once --audit "$T/audit"
audit_has '.syscall == "fallocate" and .errno == "EDQUOT" and .reason == "disk_limit"'

# the changes so far are in the result
filled one
jq -e '.changes | map(.path) | index($path)' --arg path "$W/big" "$T/result" >/dev/null ||
	fail "the file that was too large is not among the changes: $(jq -c .changes "$T/result")"

# output past its limit goes to the disk as well
flood()
{
	cg run --json --profile minimal -x /bin/cat -t 100 --output-limit 64K "$@" -- /bin/cat /dev/zero \
		>"$T/result" 2>"$T/err"
}
flood --disk ${LIMIT_MIB}M
jq -e '.status == "limit" and .exit_code == 137 and .limits.disk.hit and .limits.stdout.hit' "$T/result" >/dev/null ||
	fail "a flood of output: $(jq -c '{status, exit_code, limits}' "$T/result")"
[ "$(du -sm "$(jq -r .stdout_path "$T/result")" | cut -f 1)" -le $((LIMIT_MIB + OVER_MIB)) ] ||
	fail "a flood: $(jq -c .limits "$T/result")"

# ---- what stays below it ----

# below LIMIT NAME COMMAND…: as natively, under a limit it does not reach.
below()
{
	# shellcheck disable=SC2034 # read by lib.sh
	CG_OPTIONS=(--disk "$1")
	same "$2" "${@:3}"
}
# the same space again and again, by removal, truncation and replacement; holes; unlinked files that were closed
# shellcheck disable=SC2016 # bash inside expands these
below 24M again bash -c 'set -e
	for i in 1 2 3 4; do head -c 10000000 /dev/zero >a; rm a; done
	for i in 1 2 3 4; do head -c 10000000 /dev/zero >a; : >a; done
	for i in 1 2 3 4; do head -c 10000000 /dev/zero >b; mv b a; done
	for i in 1 2 3 4; do head -c 5000000 /dev/zero >c; exec 7<>c; rm c; exec 7>&-; done
	truncate -s 4G sparse; ln sparse second; stat -c %s-%h sparse; rm sparse second
	mkdir -p d/{1,2,3}; rm -r d; echo done'
# much larger files that were there before are not of the run
prepare() { head -c 60000000 /dev/zero >"$1/old"; }
# shellcheck disable=SC2016 # bash inside expands these
below 1M old bash -c 'echo more >>old; stat -c %s old; rm old; echo x >new
	umask 777; for i in $(seq 400); do echo unreadable >u; rm -f u; done'
prepare() { :; }

# ---- on overlayfs: in a container everything is ----

if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
	unshare -m bash "$SRC/tests/live/limits/disk.sh" overlay >"$T/overlay" 2>&1
	case $? in 0 | 77) ;; *) fail "on overlayfs: $(cat "$T/overlay")" ;; esac
fi
