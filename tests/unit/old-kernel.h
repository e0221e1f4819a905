/* What older kernels lack. Each test has a process of its own, whose kernel is an older one after these functions. */
#ifndef CALLGATE_TESTS_OLD_KERNEL_H
#define CALLGATE_TESTS_OLD_KERNEL_H

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/syscall.h>

#include "base/proc/pidinfo.h"
#include "base/proc/map.h"
#include "tests/unit/refuse-call.h"

/* Before Linux 6.11: what the supervisor asks about processes. */
static inline void be_old(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ioctl, 0, 5),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PIDFD_INFO_IOCTL, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PIDNS_GET_PID_IOCTL, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PROCMAP_QUERY_IOCTL, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOTTY),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	install_filter(code, sizeof(code) / sizeof(code[0]));
}

/* Before Linux 5.19: WAIT_KILLABLE_RECV. An interrupt ends the wait for a response. */
static inline void be_before_5_19(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_seccomp, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 1U << 5 /* SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV */, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	install_filter(code, sizeof(code) / sizeof(code[0]));
}

#endif
