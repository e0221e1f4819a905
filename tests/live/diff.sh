#!/bin/bash
# The differential test: the same system calls natively and inside, the same lines. DIFF_GROUPS: which groups.
# DIFF_PART: K/N, one part of N of the largest groups. DIFF_PART_OF_ROOT: the same, of a run that is not one of
# core.sh's.
. "$(dirname "$0")/lib.sh"
CG_OPTIONS=(-x "$CASES/cases-diff")
LIVE_TIMEOUT=${DIFF_TIMEOUT:-120}
DIFF_PART=${DIFF_PART:-${DIFF_PART_OF_ROOT:-}}
kernel_reads && CG_OPTIONS+=(--require kernel-reads)

# The helper outside, which ends with the program; see tests/cases/diff-outside.c. Each fixture is made in another part
# of the disk: ext4 looks at every inode of a part that was freed a moment ago, of which there are thousands here,
# before it gives out one.
prepare()
{
	chattr +T "$1" 2>/dev/null # is ext4's; without it the test takes longer
	mkfifo "$1/ask" "$1/answer" || die "mkfifo"
	native "$CASES/cases-diff" --outside "$1" &
	live_kept+=($!)
}

# shellcheck disable=SC2086 # a list of groups
same "diff ${DIFF_GROUPS:-all}" "$CASES/cases-diff" "$T/w" ${DIFF_PART:+--part "$DIFF_PART"} ${DIFF_GROUPS:-}
echo "$(wc -l <"$T/native.out") cases"
