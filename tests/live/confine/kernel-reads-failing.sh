#!/bin/bash
# "judge": "changes" where one of the mounts that it takes fails: the run keeps its namespaces and judges every call.
# Each kind of call fails in turn (tests/cases/failing.c).
. "$(dirname "$0")/../lib.sh"
need jq
failing=$CASES/callgate-failing
[ -x "$failing" ] || skip "callgate-failing is not built"
for kind in mountns pidns netns landlock; do
	layer $kind || skip "no run here leaves reading to the kernel"
done
mkdir -p "$T/w/sub" && echo SECRET | tee "$T/w/sub/.env" "$T/w/denied" >"$T/outside"
echo open >"$T/w/open"
echo '{"version": 1, "extends": ["minimal"], "filesystem": {"read": ["/usr", "/etc"], "write": ["@workdir"],
	"exec": ["/usr", "/bin"], "deny": ["**/.env", "**/denied"]}}' >"$T/policy.json"

# run OPTION…: a run with what the environment says; $T/result
run()
{
	# shellcheck disable=SC2016 # the inner shell's
	timeout -k 5 "$LIVE_TIMEOUT" "$failing" run --json --judge changes -p "$T/policy.json" -w "$T/w" "$@" -- \
		sh -c 'cat open; cat sub/.env denied "$1"; cat /proc/cmdline' sh "$T/outside" </dev/null \
		>"$T/result" 2>"$T/err"
}
# holds WHAT: the run has its namespaces, and reads what it should. Sets judge and why.
holds()
{
	judge=$(jq -r .judge "$T/result") why=$(jq -r '.enforcement["kernel-reads"].why' "$T/result")
	jq -e '[.enforcement[("userns", "mountns", "pidns", "netns", "landlock")] | select(.active)] | length >= 4' \
		"$T/result" >/dev/null || fail "$1: layers were given up: $(jq -c '.enforcement, .error' "$T/result")"
	[ "$(jq -r .stdout "$T/result")" = open ] || fail "$1: it has read: $(jq -c '[.stdout, .stderr]' "$T/result")"
	[ "$judge" = changes ] || [[ $why == "every call is judged: "* ]] || fail "$1: $judge, $why"
}

# Each call of a kind alone. A tree that cannot be copied with attributes is copied, and these are set.
export FAIL_CALLS FAIL_FROM FAIL_TO FAIL_COUNT
given_up=0
for FAIL_CALLS in move_mount open_tree_attr+open_tree; do
	FAIL_FROM=0 FAIL_TO=0 FAIL_COUNT=$T/count run
	[ "$(jq -r .judge "$T/result")" = changes ] ||
		fail "nothing failed: $(jq -c '.enforcement, .error' "$T/result")"
	calls=$(od -An -tu4 "$T/count")
	unset FAIL_COUNT
	[ "$calls" -gt 20 ] || fail "$calls calls of $FAIL_CALLS"
	for ((FAIL_FROM = 1; FAIL_FROM <= calls; FAIL_FROM += 7)); do
		FAIL_TO=$FAIL_FROM
		[ $FAIL_CALLS = move_mount ] || FAIL_TO=$((FAIL_FROM + 1))
		run
		holds "$FAIL_CALLS $FAIL_FROM of $calls"
		[ "$judge" = changes ] || given_up=$((given_up + 1))
	done
done
[ $given_up -gt 10 ] || fail "only $given_up runs have judged every call"

# One name that cannot be covered, in every supervisor: the rule is named, and --require is an error.
unset FAIL_CALLS FAIL_FROM FAIL_TO
while read -r FAIL_AT says; do
	export FAIL_AT
	run
	holds "$FAIL_AT"
	[[ $judge == all && $why == *"$says"* ]] || fail "$FAIL_AT: $judge, $why"
	run --require kernel-reads
	jq -e '.error.code == "layer_missing" and (.error.message | startswith("kernel-reads is required"))' \
		"$T/result" >/dev/null || fail "$FAIL_AT, required: $(jq -c '[.judge, .error]' "$T/result")"
done <<<"/sub/.env filesystem.deny[0] **/.env) cannot be covered: Operation not permitted
/w/denied filesystem.deny[1] **/denied) cannot be covered: Operation not permitted
/proc/cmdline cannot cover names of /proc: Operation not permitted
/proc/sys cannot cover names of /proc: Operation not permitted"
unset FAIL_AT

# Landlock's rules for reading come after those for executing.
export FAIL_CALLS=landlock_add_rule FAIL_FROM FAIL_TO FAIL_COUNT=$T/count
FAIL_FROM=0 FAIL_TO=0 run
FAIL_FROM=$(od -An -tu4 "$T/count" | tr -d ' ')
FAIL_TO=$FAIL_FROM
run
holds "the last rule of Landlock"
[[ $judge == all && $why == *"Landlock cannot hold the reading rules: "* ]] || fail "Landlock's rule: $judge, $why"
exit "$live_failed"
