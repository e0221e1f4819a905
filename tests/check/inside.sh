#!/bin/sh
# inside.sh [-n] ROOT DIR COMMAND…: runs COMMAND as root with ROOT as "/" and DIR as /given, with processes of its
# own and, without -n, no network. Not by chroot: the kernel refuses user namespaces to processes in one.
set -eu

net=--net
[ "$1" != -n ] || {
	net=
	shift
}
# shellcheck disable=SC2016,SC2086 # the inner shell's; a word or none
exec unshare --mount --pid $net --fork --kill-child sh -ec '
	root=$1
	dir=$2
	shift 2
	mount --bind "$root" "$root"
	mount --rbind /dev "$root/dev"
	mount --rbind /sys "$root/sys"
	mount -t proc proc "$root/proc"
	mount -t tmpfs tmpfs "$root/tmp"
	mkdir -p "$root/tmp/old" "$root/given" # not where a run has its own directory, or an example writes
	mount --bind "$dir" "$root/given"
	cd "$root"
	pivot_root . tmp/old
	cd /
	umount -l /tmp/old
	exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"
' sh "$@" </dev/null
