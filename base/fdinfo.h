/* /proc/PID/fdinfo/FD: proc_pid_fdinfo(5). The only reader of these files. */
#ifndef CALLGATE_BASE_FDINFO_H
#define CALLGATE_BASE_FDINFO_H

#include <stdbool.h>
#include <sys/types.h>

struct fdinfo {
	unsigned flags;    /* of open(2), as the kernel numbers them; includes O_CLOEXEC */
	bool identified;   /* mount and ino are known: since Linux 5.14 */
	int mount;
	unsigned long ino;
	bool master;       /* of a pseudoterminal, whose number is `terminal` */
	unsigned terminal;
	pid_t pid;         /* of a pidfd: its process, -1 when it has been reaped; 0: not a pidfd */
};

/*
 * Reads the file of descriptor fd of the thread or process `pid` (0: the calling thread). 0, or -ESRCH when there is no
 * such descriptor or it cannot be read. The descriptor may be replaced at any time: see fdinfo_is_same_file().
 */
int fdinfo_read(pid_t pid, int fd, struct fdinfo *ret_info);

/* As fdinfo_read, from the file at `path` below proc_fd, which may be another procfs mount than /proc. */
int fdinfo_read_at(int proc_fd, const char *path, struct fdinfo *ret_info);

/* True when both are known to refer to the same file. */
bool fdinfo_is_same_file(const struct fdinfo *one, const struct fdinfo *other);

#endif
