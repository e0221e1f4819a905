/*
 * What processes hold of the kernel's own memory, which no counter of theirs shows: descriptors and memory areas.
 * Called by the supervisor where no control group counts that, and for the descriptors that it opened itself, which
 * the run's group does not have.
 */
#ifndef CALLGATE_SUPERVISOR_LIMITS_HELD_H
#define CALLGATE_SUPERVISOR_LIMITS_HELD_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Measured on Linux 6.18, x86-64; see doc/security.md, "What counts as memory". */
#define HELD_DESCRIPTOR_BYTES 2048 /* an open file with its inode and name: 1.3 to 2.5 kB */
#define HELD_AREA_BYTES 192        /* a mapping */
#define HELD_TASK_BYTES 24576      /* a thread with its stack in the kernel */

/*
 * Whether a thread has the descriptors of its process's first one (CLONE_FILES, unshare). Unknown where kcmp(2) is
 * refused.
 */
enum held_table { HELD_TABLE_SHARED, HELD_TABLE_OWN, HELD_TABLE_UNKNOWN };
enum held_table held_table(pid_t pid, pid_t tid);

/*
 * The descriptors of a process and those of its threads that have their own; 0 when it is gone or cannot be looked
 * into. *ret_most: with those of threads of which that cannot be told (a container may refuse kcmp(2)), as if each had
 * its own.
 */
uint64_t held_descriptors(pid_t pid, uint64_t *ret_most);

/* The lines of a file below /proc; 0 when it cannot be read. */
uint64_t held_lines(const char *path);

/* The memory areas of one, likewise. Takes 0.3 µs for each. */
uint64_t held_areas(pid_t pid);

/*
 * A thread of a process that has its memory: pid itself, or, when its first thread has ended before the others, one
 * of those, because /proc/PID shows no memory then.
 */
pid_t held_by(pid_t pid, char state, uint64_t threads);

/* Descriptors and mapped files of all descendants of root: no fewer than the files that they hold open. 0 or -errno. */
int held_files(pid_t root, uint64_t *ret_files);

/* held-buffers.c: what is in pipes and sockets, each of which counts once. Zero at first. */
struct held_buffers {
	uint64_t bytes;
	uint64_t *inode; /* of those seen: the first `sorted` in order. Owned */
	size_t count, sorted, room;
};

/*
 * What one descriptor may hold at most: a unix socket or pipe; one of TCP (net.ipv4.tcp_rmem and tcp_wmem as they
 * usually are); a unix listener, or inotify with fs.inotify.max_queued_events.
 */
#define HELD_BUFFER_BYTES (UINT64_C(256) << 10)
#define HELD_BUFFER_INET_BYTES (UINT64_C(12) << 20)
#define HELD_BUFFER_QUEUE_BYTES (UINT64_C(14) << 20)

/*
 * Adds those of a process, and what its inotify and epoll descriptors have, once for each process with them; 5 µs for
 * each pipe or socket. Where pidfd_getfd(2) is refused, each of those counts as full.
 */
void held_buffers_add(struct held_buffers *buffers, pid_t pid);
void held_buffers_done(struct held_buffers *buffers);

#endif
