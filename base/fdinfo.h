/* What /proc/PID/fdinfo/N says of a descriptor: proc_pid_fdinfo(5). The one reader of these files. */
#ifndef CALLGATE_BASE_FDINFO_H
#define CALLGATE_BASE_FDINFO_H

#include <stdbool.h>
#include <sys/types.h>

struct fdinfo {
	unsigned flags;    /* as open(2), in the kernel's numbers; O_CLOEXEC among them */
	bool identified;   /* mount and ino are known: since Linux 5.14 */
	int mount;
	unsigned long ino;
	pid_t pid;         /* of a pidfd: its task, -1 when that is gone; 0: no pidfd */
};

/*
 * Reads it for descriptor fd of the thread or process `pid` (0: our own). 0, or -ESRCH when there is no such descriptor
 * or it cannot be read. The number may mean something else the moment after: see fdinfo_same.
 */
int fdinfo_read(pid_t pid, int fd, struct fdinfo *ret_info);

/* The same of the file at `path` of a procfs, which may be another one than /proc. */
int fdinfo_read_at(int proc_fd, const char *path, struct fdinfo *ret_info);

/* True when both are surely descriptors of the same object. */
bool fdinfo_same(const struct fdinfo *one, const struct fdinfo *other);

#endif
