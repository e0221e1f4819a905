#!/bin/bash
# Follows the advice of callgate doctor for containers literally, with podman, and checks that the missing layers work
# afterwards.
. "$(dirname "$0")/../lib.sh"
need podman unshare jq
[ "$(id -u)" = 0 ] || skip "not root, which starts the container"
OWN=/usr/share/containers/seccomp.json
[ -r $OWN ] || skip "podman's own seccomp profile is not there: $OWN"

top_srcdir=$SRC top_builddir=$BUILD "$SRC/tests/live/core.sh" copy "$T/tree" || die "cannot copy the tests"
chmod 711 "$T"

# contained OPTION… -- COMMAND…: as in-container.sh, with podman's own or another seccomp profile.
contained()
{
	local options
	take_options "$@"
	shift $((${#options[@]} + 1))
	# shellcheck disable=SC2016 # the inner shell's
	timeout -k 5 300 unshare -m sh -c '
		umount /sys/fs/cgroup/unified 2>/dev/null
		tmp=$1 user=$2
		shift 2
		exec podman --root "$tmp/storage" --runroot "$tmp/run" run --rm --cgroups=disabled --network=none \
			--user "$user" --ulimit nofile=1024:1024 --ulimit nproc=1000:1000 "$@"
	' sh "$T" "$(own_uid)" "${options[@]}" --rootfs /:O env -i PATH="$PATH" \
		CALLGATE_PROFILES="$T/tree/policy/profiles" "$@" </dev/null
}

# doctor OPTION…: its result in such a container goes to $T/json.
doctor()
{
	contained "$@" -- "$T/tree/built/callgate" doctor --json >"$T/json" 2>"$T/err"
	jq -e . "$T/json" >/dev/null || die "no result: $(head -n 3 "$T/err")"
}

lacks()
{
	jq -e --arg layer "$1" '.layers[$layer].active == false' "$T/json" >/dev/null ||
		fail "$2: there is a layer $1 already"
}
has()
{
	jq -e --arg layer "$1" '.layers[$layer].active' "$T/json" >/dev/null ||
		fail "$2: no layer $1: $(jq -c '.layers[] | .why' "$T/json")"
}
advised() { jq -r --arg title "$1" '.advice[] | select(.title == $title) | .text' "$T/json"; }

contained -- true >"$T/start" 2>&1 || skip "podman cannot start a container here: $(tail -n 1 "$T/start")"

# A profile such as Docker's: no namespaces. The advice's lines of JSON go into its "syscalls".
jq '.syscalls |= map(.names -= ["unshare", "clone", "clone3", "mount", "umount2", "pivot_root", "fsopen", "fsconfig",
	"fsmount", "open_tree",
	"move_mount", "mount_setattr", "chroot", "pidfd_getfd", "setns"]) | .syscalls += [{"names": ["clone"],
	"action": "SCMP_ACT_ALLOW",
	"args": [{"index": 0, "value": 2114060288, "valueTwo": 0, "op": "SCMP_CMP_MASKED_EQ"}]}]' $OWN >"$T/docker.json"
doctor --security-opt "seccomp=$T/docker.json"
lacks userns "Docker's profile"
advised 'seccomp profile' | sed -n '/{"action"/,/]}/p' >"$T/added.json"
jq -e '.names | index("unshare")' "$T/added.json" >/dev/null || die "the advice has no rule: $(cat "$T/json")"
jq --slurpfile added "$T/added.json" '.syscalls += $added' "$T/docker.json" >"$T/callgate.json"
doctor --security-opt "seccomp=$T/callgate.json"
has userns "the profile advised"
has mountns "the profile advised"
[ -z "$(advised 'seccomp profile')" ] || fail "it advises what was done: $(advised 'seccomp profile')"

# A /proc that is covered in parts, as it is by now.
lacks pidns "a covered /proc"
option=$(advised 'a /proc of its own' | sed -n 's/.*podman run \(--security-opt [^ ]*\).*/\1/p')
[ -n "$option" ] || die "no option for podman: $(advised 'a /proc of its own')"
# shellcheck disable=SC2086 # two words
doctor --security-opt "seccomp=$T/callgate.json" $option
has pidns "$option"
[ -z "$(advised 'a /proc of its own')" ] || fail "it advises what was done: $(advised 'a /proc of its own')"
