#!/bin/bash
# The core of the live suite in an unprivileged container: no capabilities, few descriptors and processes, no network,
# and the refusals of Docker's default seccomp profile for such a container. What callgate needs must do without these.
. "$(dirname "$0")/lib.sh"
need podman unshare jq
[ "$(id -u)" = 0 ] || skip "not root, which starts the container"

# What that profile refuses on x86_64: the calls it does not list, namespaces by clone, and clone3, whose flags a filter
# cannot see. A call that is newer than the profile gets ENOSYS from the runtimes.
refused='acct add_key bpf clock_settime create_module delete_module fanotify_init finit_module fsconfig
	fsmount fsopen fspick get_kernel_syms get_mempolicy init_module io_uring_enter io_uring_register
	io_uring_setup ioperm iopl kcmp kexec_file_load kexec_load keyctl lookup_dcookie mbind migrate_pages mount
	mount_setattr move_mount move_pages nfsservctl open_by_handle_at open_tree perf_event_open pidfd_getfd
	pivot_root process_madvise query_module quotactl quotactl_fd reboot request_key set_mempolicy
	set_mempolicy_home_node setdomainname sethostname setns settimeofday swapoff swapon sysfs syslog umount2
	unshare uselib userfaultfd ustat vhangup _sysctl'
newer="clone3 $("$CASES/cases-rows" all | awk '$2 >= 451 { print $3 }' | xargs)" # Linux 6.5
namespaces=$((0x7e020000)) # CLONE_NEWNS, CGROUP, UTS, IPC, USER, PID, NET
jq -n --arg refused "$refused" --arg newer "$newer" --argjson namespaces "$namespaces" '
	def names: [splits("\\s+")];
	def clone(bit): {names: ["clone"], action: "SCMP_ACT_ERRNO", errnoRet: 1,
		args: [{index: 0, value: bit, valueTwo: bit, op: "SCMP_CMP_MASKED_EQ"}]};
	def bits: . as $all | [range(32) | pow(2; .) | select((($all / .) | floor) % 2 == 1)];
	{defaultAction: "SCMP_ACT_ALLOW", architectures: ["SCMP_ARCH_X86_64", "SCMP_ARCH_X86", "SCMP_ARCH_X32"],
	syscalls: ([
		{names: ($refused | names), action: "SCMP_ACT_ERRNO", errnoRet: 1},
		{names: ($newer | names), action: "SCMP_ACT_ERRNO", errnoRet: 38}] + ($namespaces | bits |
		map(clone(.))))}
' >"$T/seccomp.json" || die "cannot write the seccomp profile"

top_srcdir=$SRC top_builddir=$BUILD "$SRC/tests/live/core.sh" copy "$T/tree" || die "cannot copy the tests"
chmod 711 "$T"

# contained COMMAND…: over this machine's own files, changes to which the container keeps to itself. The mount
# namespace is for podman, which takes a cgroup2 mount at "unified" for a layout it cannot use.
contained()
{
	# shellcheck disable=SC2016 # the inner shell's
	timeout -k 5 "${LIVE_CONTAINER_TIMEOUT:-900}" unshare -m sh -c '
		umount /sys/fs/cgroup/unified 2>/dev/null
		tmp=$1
		shift
		exec podman --root "$tmp/storage" --runroot "$tmp/run" run --rm --cgroups=disabled --network=none \
			--user 1000 --ulimit nofile=1024:1024 --ulimit nproc=1000:1000 \
			--security-opt "seccomp=$tmp/seccomp.json" --rootfs /:O "$@"
	' sh "$T" "$@" </dev/null
}

contained true >"$T/start" 2>&1 || skip "podman cannot start a container here: $(tail -n 1 "$T/start")"
# Or nothing is tried here at all.
contained unshare true >"$T/start" 2>&1 && die "unshare is not refused: the seccomp profile has no effect"

# shellcheck disable=SC2016 # the inner shell's
contained env -i PATH="$PATH" top_srcdir="$T/tree" top_builddir="$T/tree/built" OUTER_FILTER=1 \
	CORE_TESTS="${CORE_TESTS:-}" CORE_TIMEOUT="${CORE_TIMEOUT:-}" bash -c '
	LIVE_TMP=$(mktemp -d) && HOME=$LIVE_TMP && TMPDIR=$LIVE_TMP && export LIVE_TMP HOME TMPDIR &&
	exec bash "$top_srcdir/tests/live/core.sh"'
status=$?
[ $status = 0 ] || fail "in a container: see above (status $status)"
