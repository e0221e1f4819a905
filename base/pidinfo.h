/* ioctls of newer kernels about processes. The system's headers may be older. */
#ifndef CALLGATE_BASE_PIDINFO_H
#define CALLGATE_BASE_PIDINFO_H

#include <stdint.h>
#include <sys/ioctl.h>

/* PIDFD_GET_INFO, Linux 6.13: pid and credentials of a pidfd's process. struct pidfd_info, first version. */
struct pidinfo {
	uint64_t mask; /* in: the fields wanted (PIDINFO_PID); out: the fields that were set */
	uint64_t cgroup;
	uint32_t pid, tgid, ppid;
	uint32_t ruid, rgid, euid, egid, suid, sgid, fsuid, fsgid;
	uint32_t spare0;
};

#define PIDINFO_PID 1u
#define PIDFD_INFO_CALL _IOWR(0xFF, 11, struct pidinfo)

/* NS_GET_PID_IN_PIDNS, Linux 6.11: translates a pid of our pid namespace into the descriptor's. */
#define PIDNS_NUMBER_CALL _IOR(0xb7, 8, int)

#endif
