#!/bin/bash
# "judge": "changes" on a kernel, or in a container, that lacks a piece: the run judges every call, or reads as the
# policy says by mounts and Landlock; enforcement names what is missing, and --require kernel-reads is an error before
# the program starts. A filter around callgate answers as such a kernel does.
. "$(dirname "$0")/../lib.sh"
need jq
without=$CASES/cases-without
[ -x "$without" ] || skip "cases-without is not built"
for kind in mountns pidns netns landlock; do
	layer $kind || skip "no run here leaves reading to the kernel"
done
mkdir -p "$T/w/sub" && echo SECRET | tee "$T/w/.env" "$T/w/sub/.env" >"$T/outside"
echo open >"$T/w/open"

# lacking OPTION… -- COMMAND…: a run under cases-without OPTION…; $T/result, $T/err
lacking()
{
	local options
	take_options "$@"
	shift $((${#options[@]} + 1))
	timeout -k 5 "$LIVE_TIMEOUT" "$without" "${options[@]}" "$CALLGATE" run --json --judge changes \
		--profile extended -w "$T/w" "$@" </dev/null >"$T/result" 2>"$T/err"
}

# lacks WHY OPTION…
lacks()
{
	local why=$1 said
	shift
	# shellcheck disable=SC2016 # the inner shell's
	lacking "$@" -- -- sh -c 'cat open .env sub/.env "$1"; cat /etc/shadow' sh "$T/outside"
	said=$(jq -r '.enforcement["kernel-reads"].why // .error.message' "$T/result")
	echo "$*: $said"
	jq -e '.judge == "all" and (.enforcement["kernel-reads"].active | not)' "$T/result" >/dev/null ||
		fail "$*: judge is $(jq -c '[.judge, .error]' "$T/result"): $(cat "$T/err")"
	[[ $said == "every call is judged: "*"$why"* ]] || fail "$*: $said, and not: $why"
	[ "$(jq -r .stdout "$T/result")" = open ] || fail "$*: it has read: $(jq -c '[.stdout, .stderr]' "$T/result")"
	lacking "$@" -- --require kernel-reads -- touch started
	jq -e '.error.code == "layer_missing" and (.error.message | startswith("kernel-reads is required"))' \
		"$T/result" >/dev/null || fail "$*: required: $(jq -c '[.judge, .error]' "$T/result")"
	[ ! -e "$T/w/started" ] || fail "$*: required, and the program was started"
}
lacks "the layer mountns is not active" -open_tree
lacks "the layer mountns is not active" -mount_setattr
lacks "the layer mountns is not active" -move_mount
lacks "the layer mountns is not active" -fsopen
lacks "the layer mountns is not active" -pivot_root
lacks "the layer mountns is not active" -newns
lacks "the layer pidns is not active" -newpid
lacks "the layer netns is not active" -newnet
lacks "the layer landlock is not active" -landlock
lacks "the layer landlock is not active" -landlock-off
lacks "is not active" -newuser -newns -newpid -newnet
# Root needs no user namespace for the others.
if [ "$(id -u)" != 0 ]; then
	lacks "the layer mountns is not active" -newuser
else
	lacking -newuser -- -- cat open .env
	[ "$(jq -r .stdout "$T/result")" = open ] || fail "no user namespace: $(jq -c '[.stdout, .error]' "$T/result")"
fi
exit "$live_failed"
