/* ioctls on pidfds and pid namespaces, which older system headers lack. */
#ifndef CALLGATE_BASE_PROC_PIDINFO_H
#define CALLGATE_BASE_PROC_PIDINFO_H

#include <stdint.h>
#include <sys/ioctl.h>

/* PIDFD_GET_INFO, Linux 6.13: pids and credentials of a pidfd's process. The first version of struct pidfd_info. */
struct pidinfo {
	uint64_t field_mask; /* in: the fields wanted (PIDINFO_MASK_PID); out: the fields that the kernel set */
	uint64_t cgroup_id;
	uint32_t pid, tgid, ppid;
	uint32_t ruid, rgid, euid, egid, suid, sgid, fsuid, fsgid;
	uint32_t spare0; /* unused in the kernel's struct */
};

#define PIDINFO_MASK_PID 1u /* bit of field_mask: pid, tgid and ppid */
#define PIDFD_INFO_IOCTL _IOWR(0xFF, 11, struct pidinfo)

/* NS_GET_PID_IN_PIDNS, Linux 6.11: translates a pid of the caller's pid namespace into the descriptor's namespace. */
#define PIDNS_GET_PID_IOCTL _IOR(0xb7, 8, int)

#endif
