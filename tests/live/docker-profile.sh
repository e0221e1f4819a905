# A seccomp profile for an OCI runtime with the refusals of Docker's default one, for containers that have Docker's
# default capabilities or fewer. After lib.sh.
# shellcheck shell=bash

# What that profile refuses on x86_64: the calls it does not list, namespaces by clone, and clone3, whose flags a filter
# cannot see. A call that is newer than the profile gets ENOSYS from the runtimes.
docker_refused='acct add_key bpf clock_settime create_module delete_module fanotify_init finit_module fsconfig
	fsmount fsopen fspick get_kernel_syms get_mempolicy init_module io_uring_enter io_uring_register
	io_uring_setup ioperm iopl kcmp kexec_file_load kexec_load keyctl lookup_dcookie mbind migrate_pages mount
	mount_setattr move_mount move_pages nfsservctl open_by_handle_at open_tree perf_event_open pidfd_getfd
	pivot_root process_madvise query_module quotactl quotactl_fd reboot request_key set_mempolicy
	set_mempolicy_home_node setdomainname sethostname setns settimeofday swapoff swapon sysfs syslog umount2
	unshare uselib userfaultfd ustat vhangup _sysctl'
docker_newer="clone3 $("$CASES/cases-rows" all | awk '$2 >= 451 { print $3 }' | xargs)" # Linux 6.5
docker_namespaces=$((0x7e020000)) # CLONE_NEWNS, CGROUP, UTS, IPC, USER, PID, NET

# docker_profile FILE [CALL…]: writes it, with these calls refused besides.
docker_profile()
{
	local file=$1
	shift
	jq -n --arg refused "$docker_refused $*" --arg newer "$docker_newer" --argjson namespaces "$docker_namespaces" '
		def names: [splits("\\s+") | select(. != "")];
		def clone(bit): {names: ["clone"], action: "SCMP_ACT_ERRNO", errnoRet: 1,
			args: [{index: 0, value: bit, valueTwo: bit, op: "SCMP_CMP_MASKED_EQ"}]};
		def bits: . as $all | [range(32) | pow(2; .) | select((($all / .) | floor) % 2 == 1)];
		{defaultAction: "SCMP_ACT_ALLOW", architectures: ["SCMP_ARCH_X86_64", "SCMP_ARCH_X86", "SCMP_ARCH_X32"],
		syscalls: ([
			{names: ($refused | names), action: "SCMP_ACT_ERRNO", errnoRet: 1},
			{names: ($newer | names), action: "SCMP_ACT_ERRNO", errnoRet: 38}] + ($namespaces | bits |
			map(clone(.))))}
	' >"$file" || die "cannot write the seccomp profile"
}
