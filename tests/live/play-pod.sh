#!/bin/sh
# play-pod.sh DIR POD COMMAND…: plays the manifest POD with COMMAND ("podman --root …"), waits for its container
# callgate-analysis-analysis, and writes what that printed to DIR/logs, its standard error to DIR/logs.err. The control
# groups that podman leaves behind are removed. Exit status: 0, or that of what failed.
set -u

dir=$1
pod=$2
shift 2
# Limits that cannot be raised here stay.
printf '%s\n' '[engine]' 'cgroup_manager = "cgroupfs"' '[containers]' \
	'default_ulimits = ["nofile=1024:1024", "nproc=1000:1000"]' >"$dir/containers.conf"

parents()
{
	find /sys/fs/cgroup -maxdepth 2 -name libpod_parent 2>/dev/null | LC_ALL=C sort
}
parents >"$dir/parents"
# The mount namespace is for podman, which needs control groups here, and takes a cgroup2 mount at "unified" for a
# layout that it cannot use.
# shellcheck disable=SC2016 # the inner shell's
CONTAINERS_CONF=$dir/containers.conf timeout -k 5 120 unshare -m sh -c '
	umount /sys/fs/cgroup/unified 2>/dev/null
	dir=$1
	pod=$2
	shift 2
	"$@" play kube --network=none "$pod" && "$@" wait callgate-analysis-analysis &&
		"$@" logs callgate-analysis-analysis >"$dir/logs" 2>"$dir/logs.err"
	status=$?
	"$@" play kube --down "$pod"
	exit $status
' sh "$dir" "$pod" "$@" </dev/null
status=$?
parents | LC_ALL=C comm -13 "$dir/parents" - | while read -r parent; do
	find "$parent" -depth -type d -exec rmdir {} \;
done
exit $status
