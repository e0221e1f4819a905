/* What newer kernels tell of processes without /proc. Headers of the system may be older. */
#ifndef CALLGATE_BASE_PIDINFO_H
#define CALLGATE_BASE_PIDINFO_H

#include <stdint.h>
#include <sys/ioctl.h>

/* PIDFD_GET_INFO, Linux 6.13: who a pidfd's task is. The first version of struct pidfd_info of <linux/pidfd.h>. */
struct pidinfo {
	uint64_t mask; /* what is asked for: PIDINFO_PID, and what the kernel gave */
	uint64_t cgroup;
	uint32_t pid, tgid, ppid;
	uint32_t ruid, rgid, euid, egid, suid, sgid, fsuid, fsgid;
	uint32_t spare;
};

#define PIDINFO_PID 1u
#define PIDFD_INFO_CALL _IOWR(0xFF, 11, struct pidinfo)

/* NS_GET_PID_IN_PIDNS, Linux 6.11: the number that a process, given by ours, has in the namespace of the descriptor. */
#define PIDNS_NUMBER_CALL _IOR(0xb7, 8, int)

#endif
