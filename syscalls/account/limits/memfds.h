/*
 * Shared memory of a run that no control group limits. Its pages need not belong to any process, and a memfd's only
 * descriptor may be in a message. So the supervisor makes all memfds. It keeps a descriptor of each, to measure the
 * memfd and to detect whether it is still open or mapped. Shared anonymous memory becomes a memfd that the target maps.
 * Memory that cannot be measured in this way is refused: /dev/zero opened for reading and writing, huge pages, and the
 * calls that put pages into pipes and sockets. Used by handlers and by supervisor/limits/, in the supervisor thread.
 */
#ifndef CALLGATE_SYSCALLS_ACCOUNT_LIMITS_MEMFDS_H
#define CALLGATE_SYSCALLS_ACCOUNT_LIMITS_MEMFDS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#define MEMFDS_MAX 1024 /* memfds at a time; then memfd_create fails with ENFILE, and mmap with ENOMEM */

/* Largest backlog of unix listeners if memory is sampled: each pending connection can hold 0.2 MB. */
#define MEMFDS_UNIX_BACKLOG_MAX 64

struct call;
struct memfds;

/* 0 or -ENOMEM. */
int memfds_create(struct memfds **ret_memfds);
void memfds_free(struct memfds *memfds);

/* Bytes of all memfds now, including those that the run has closed since the last sweep. */
uint64_t memfds_measure_bytes(const struct memfds *memfds);

/* Frees the memfds that no process has any more. To be called before a limit is enforced. */
void memfds_free_unused(struct memfds *memfds);

/* Notes that the run has a unix listener or an inotify watch, whose queues take kernel memory. memfds may be NULL. */
void memfds_note_kernel_queues(struct memfds *memfds);
bool memfds_run_has_kernel_queues(const struct memfds *memfds);

/* Whether /dev/zero is opened with flags (O_*) that allow shared mappings, whose memory would not be measured. */
bool memfds_opens_zero_device(const struct call *call, const struct stat *status, int flags);

/* Refuses with EINVAL a call that would put pages into pipes or sockets. */
void memfds_refuse_splice(struct call *call);

#endif
