/*
 * Estimates the kernel memory that processes hold by descriptors and memory areas, which no counter of a process shows.
 * Used by sample.c if no control group counts this memory, and by limits.c for files that the supervisor opened,
 * because these are not charged to the run's control group.
 */
#ifndef CALLGATE_SUPERVISOR_LIMITS_HELD_H
#define CALLGATE_SUPERVISOR_LIMITS_HELD_H

#include <dirent.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Kernel memory of one object each, measured on Linux 6.18, x86-64: doc/security.md, "What counts as memory". */
#define HELD_KERNEL_BYTES_PER_DESCRIPTOR 2048 /* an open file with its inode and name: 1.3 to 2.5 kB */
#define HELD_KERNEL_BYTES_PER_MAPPING 192     /* a memory mapping */
#define HELD_KERNEL_BYTES_PER_TASK 24576      /* a thread with its kernel stack */

/* Opens a directory of /proc/PID. NULL: the directory cannot be read. */
DIR *held_open_proc_pid_dir(pid_t pid, const char *leaf);
/* The next thread in the "task" directory of a process; 0: no further thread, or dir is NULL. */
pid_t held_read_next_tid(DIR *dir);

/* Whether thread tid shares the descriptor table of its process's main thread. Unknown where kcmp(2) is refused. */
enum held_fd_table_sharing { HELD_TABLE_SHARED, HELD_TABLE_OWN, HELD_TABLE_UNKNOWN };
enum held_fd_table_sharing held_compare_fd_tables(pid_t pid, pid_t tid);

/*
 * The number of descriptors in all tables of a process; 0 when they cannot be read. *ret_most also counts threads whose
 * table is unknown as if each had its own.
 */
uint64_t held_count_descriptors(pid_t pid, uint64_t *ret_most);

/*
 * The number of lines of a file of /proc/PID; 0: unreadable. Each line of "maps" is a memory area, and takes 0.3 µs to
 * read.
 */
uint64_t held_count_lines_of_proc_file(pid_t pid, const char *leaf);

/* The thread whose /proc/TID shows the memory of a process: pid, or another thread if the main thread is a zombie. */
pid_t held_find_thread_showing_memory(pid_t pid, char state, uint64_t threads);

/* held-buffers.c: the bytes in pipes and sockets. Each pipe or socket counts once. To be initialised with zeros. */
struct held_buffers {
	uint64_t total_bytes; /* kernel memory of all that was counted */
	void *inodes; /* inodes that were counted: a tree of tsearch(3). Owned */
};

/*
 * The most bytes that one descriptor may hold. UNIX: a unix socket or a pipe. TCP: with the usual net.ipv4.tcp_rmem and
 * tcp_wmem. LISTENER: a unix listener, or inotify with fs.inotify.max_queued_events.
 */
#define HELD_BUFFER_MAX_BYTES_UNIX (UINT64_C(256) << 10) /* a unix socket or a pipe */
#define HELD_BUFFER_MAX_BYTES_TCP (UINT64_C(12) << 20)   /* with the usual net.ipv4.tcp_rmem and tcp_wmem */
/* a listening unix socket, or inotify with max_queued_events */
#define HELD_BUFFER_MAX_BYTES_LISTENER (UINT64_C(14) << 20)

/*
 * Adds the pipes, sockets, inotify and epoll descriptors of a process. Takes 5 µs for each pipe or socket. If
 * pidfd_getfd(2) is refused, each of them counts as full.
 */
void held_buffers_add_process(struct held_buffers *buffers, pid_t pid);
void held_buffers_release(struct held_buffers *buffers);

#endif
