/*
 * Shared memory of a run where no control group bounds it: its pages need not be in any process, and the descriptors of
 * memfds may be on their way from one to another. So the supervisor makes the memfds, and keeps a descriptor of its own
 * of each that says how much memory it takes and whether anybody else still has it open or mapped. Shared anonymous
 * memory is a memfd without a descriptor, which the task maps in its place. What cannot be had that way is refused:
 * /dev/zero opened for both reading and writing, huge pages, and the calls that put pages into pipes and sockets.
 */
#ifndef CALLGATE_SYSCALLS_ACCOUNT_MEMFDS_H
#define CALLGATE_SYSCALLS_ACCOUNT_MEMFDS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#define MEMFDS_MAX 1024 /* in use at a time; past it memfd_create is ENFILE, mmap ENOMEM */

/* Where memory is sampled: as many connections wait in a unix listener, each with 0.2 MB. */
#define MEMFDS_BACKLOG_MAX 64

struct call;
struct memfds;

/* 0 or -ENOMEM. */
int memfds_create(struct memfds **ret_memfds);
void memfds_free(struct memfds *memfds);

/* The memory they take at this moment; also those the program has closed since the last sweep. */
uint64_t memfds_bytes(const struct memfds *memfds);

/*
 * Gives back those that nobody has any more. Done by memfd_create itself now and then; to be called before it matters.
 */
void memfds_sweep(struct memfds *memfds);

/* The run has a descriptor that queues more than most do: a unix listener, an inotify watch. For good. */
void memfds_set_queues(struct memfds *memfds); /* NULL: nothing is done */
bool memfds_queues(const struct memfds *memfds);

/*
 * True for /dev/zero, by any name, opened with these flags (O_*) to be mapped shared: each such mapping is memory of
 * its own.
 */
bool memfds_evades(const struct call *call, const struct stat *status, int flags);

/* The answer to a call that would put pages into pipes and sockets: EINVAL. */
void memfds_refuse_pages(struct call *call);

#endif
