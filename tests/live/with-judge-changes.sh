#!/bin/bash
# Runs live tests again where the kernel judges reading ("judge": "changes"), as root, and those in which the user
# matters as a user. What differs from judged runs on purpose is in live_differences (lib.sh).
# JUDGE_CHANGES: "all" for every test of these folders, which takes minutes.
. "$(dirname "$0")/lib.sh"
need jq
export LIVE_JUDGE=changes
kernel_reads || skip "no run here leaves reading to the kernel: $(cg run --json -- true |
	jq -r '.enforcement["kernel-reads"].why')"

# The differential suite; threats, attacks and changes of names that could get past the kernel's judgement of reads.
# The others are about calls that are judged in both modes.
differential="syscalls/diff-dirfd syscalls/diff-meta syscalls/diff-open syscalls/diff-path"
as_ordinary_user="attacks/host-names attacks/public threats/08-same-uid threats/22-alias threats/23-environment
	threats/24-procfs threats/26-metadata"
as_any_user="syscalls/diff-deviate syscalls/diff-pair syscalls/diff-task syscalls/errnos syscalls/links
	syscalls/rename-random
	attacks/attributes attacks/denied-names attacks/glob-write attacks/proc-net attacks/procfs attacks/reopen
	attacks/scratch attacks/script
	threats/03-unreadable threats/05-nested threats/06-supervisor threats/07-descriptors threats/10-handles
	threats/12-core threats/15-refusals threats/16-chdir threats/16-flip threats/17-memory threats/18-stall
	threats/19-pointers threats/20-swap threats/21-spoof threats/25-reopen threats/28-fifos
	threats/31-full-table threats/36-messages threats/41-terminal threats/42-log-injection"

# names WORD…: as core.sh takes them
names()
{
	printf '%s.sh ' "$@"
}
here=$SRC/tests/live
chmod 711 "$T" # for tests with another user of their own
# shellcheck disable=SC2086 # lists of names
as_root=$(names $differential $as_any_user) as_user=$(names $differential $as_ordinary_user)
if [ "${JUDGE_CHANGES:-}" = all ]; then
	as_root=$(cd "$here" && echo syscalls/*.sh attacks/*.sh threats/*.sh workloads/*.sh)
	as_user=$as_root LIVE_USER_TIMEOUT=3000
	export LIVE_USER_TIMEOUT
else
	# Races were run at length in judged runs.
	export FLIP_SECONDS=1 SWAP_SECONDS=1 KILL_SECONDS=1 STORM_SECONDS=1 RENAME_ROUNDS=6 DIFF_PART=1/6
fi
export top_srcdir=$SRC top_builddir=$BUILD
if [ "$(id -u)" = 0 ]; then
	LIVE_TMP=$T CORE_TESTS=$as_root "$here/core.sh" || fail "by root: see above"
	CORE_TESTS=$as_user DIFF_PART=4/6 "$here/as-user.sh" || fail "by a user: see above"
else
	LIVE_TMP=$T CORE_TESTS="$as_root $as_user" "$here/core.sh" || fail "see above"
fi
