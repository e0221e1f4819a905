#!/bin/bash
# The core of the live suite in an unprivileged container: no capabilities, few descriptors and processes, no network,
# and the refusals of Docker's default seccomp profile for such a container. What callgate needs must do without these.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/docker-profile.sh"
need podman unshare jq
[ "$(id -u)" = 0 ] || skip "not root, which starts the container"

docker_profile "$T/seccomp.json"

top_srcdir=$SRC top_builddir=$BUILD "$SRC/tests/live/core.sh" copy "$T/tree" || die "cannot copy the tests"
chmod 711 "$T"

# contained COMMAND…: over this machine's own files, changes to which the container keeps to itself. The mount
# namespace is for podman, which takes a cgroup2 mount at "unified" for a layout it cannot use.
contained()
{
	# shellcheck disable=SC2016 # the inner shell's
	timeout -k 5 "${LIVE_CONTAINER_TIMEOUT:-1700}" unshare -m sh -c '
		umount /sys/fs/cgroup/unified 2>/dev/null
		tmp=$1 user=$2
		shift 2
		exec podman --root "$tmp/storage" --runroot "$tmp/run" run --rm --cgroups=disabled --network=none \
			--user "$user" --ulimit nofile=1024:1024 --ulimit nproc=1000:1000 \
			--security-opt "seccomp=$tmp/seccomp.json" --rootfs /:O "$@"
	' sh "$T" "$(own_uid)" "$@" </dev/null
}

contained true >"$T/start" 2>&1 || skip "podman cannot start a container here: $(tail -n 1 "$T/start")"
# Or nothing is tried here at all.
contained unshare true >"$T/start" 2>&1 && die "unshare is not refused: the seccomp profile has no effect"

# shellcheck disable=SC2016 # the inner shell's
contained env -i PATH="$PATH" top_srcdir="$T/tree" top_builddir="$T/tree/built" OUTER_FILTER=1 \
	CORE_TESTS="${CORE_TESTS:-}" CORE_TIMEOUT="${CORE_TIMEOUT:-}" \
	CORE_JOBS="${CORE_JOBS:-}" CORE_SHUFFLE="${CORE_SHUFFLE:-}" bash -c '
	LIVE_TMP=$(mktemp -d) && HOME=$LIVE_TMP && TMPDIR=$LIVE_TMP && export LIVE_TMP HOME TMPDIR &&
	exec bash "$top_srcdir/tests/live/core.sh"'
status=$?
[ $status = 0 ] || fail "in a container: see above (status $status)"
