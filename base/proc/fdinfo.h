/* Reads /proc/PID/fdinfo/FD (proc_pid_fdinfo(5)). No other code reads these files. */
#ifndef CALLGATE_BASE_PROC_FDINFO_H
#define CALLGATE_BASE_PROC_FDINFO_H

#include <stdbool.h>
#include <sys/types.h>

/* What the kernel tells of a descriptor in /proc/PID/fdinfo. */
struct fdinfo {
	unsigned open_flags;    /* the flags of open(2), as the kernel numbers them, with O_CLOEXEC */
	bool has_mount_and_ino; /* `mount_id` and `ino` are known: since Linux 5.14 */
	int mount_id;           /* id of the mount that the file was opened in */
	unsigned long ino;      /* inode number of the file */
	bool is_pty_master;  /* the descriptor is a pseudoterminal master, and `pty_number` is the number of the pair */
	unsigned pty_number; /* N of the slave /dev/pts/N */
	unsigned queued_fd_count; /* descriptors that a unix socket has in its queue: SCM_RIGHTS, since Linux 5.6 */
	pid_t pid;                /* the process of a pidfd; -1: already reaped; 0: the descriptor is no pidfd */
};

/*
 * Reads about descriptor fd of the thread or process `pid` (0: the calling thread). 0, or -ESRCH: no such descriptor,
 * or unreadable. Another thread may replace the descriptor at any time: see fdinfo_is_same_file().
 */
int fdinfo_read(pid_t pid, int fd, struct fdinfo *ret_info);

/* As fdinfo_read, but reads the file at `path` below proc_fd, which may be another mount of procfs than /proc. */
int fdinfo_read_at(int proc_fd, const char *path, struct fdinfo *ret_info);

/* True when both descriptors are known, and refer to the same file. */
bool fdinfo_is_same_file(const struct fdinfo *one, const struct fdinfo *other);

#endif
