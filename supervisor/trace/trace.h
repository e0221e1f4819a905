/*
 * ptrace(2): verifies execs, and makes target threads do what the supervisor cannot do for them. Called by dispatch.c,
 * outcome.c and loop.c in the supervisor thread, which is the tracer of all seized threads.
 */
#ifndef CALLGATE_SUPERVISOR_TRACE_TRACE_H
#define CALLGATE_SUPERVISOR_TRACE_TRACE_H

#include <stdbool.h>
#include <sys/types.h>

#include "syscalls/call/call.h"
#include "syscalls/exec/execve.h"

struct tracer;

int tracer_create(struct sandbox *sandbox, struct tracer **ret_tracer);
void tracer_free(struct tracer *tracer);

/*
 * Seizes the target thread for what it has to do itself:
 *
 *   OUTCOME_EXEC               the exec is continued, and the new image verified at its stop (trace_on_wait_status)
 *   OUTCOME_OPATH_FD           injected calls make the thread receive a descriptor
 *   OUTCOME_MAP_MEMFD          injected calls make the thread map a memfd
 *   OUTCOME_FETCH_DESCRIPTOR   injected calls make the thread send its descriptor, then the call is restarted
 *                              (trace_take_fetched_fd). The call is not recorded before that
 *
 * 0: the tracer responds, perhaps after another thread's exec, ends the record and has taken what the outcome owned.
 * -errno: the caller responds and ends the record.
 */
int trace_start_call(struct tracer *tracer, struct call *call);

/*
 * To be called for every notification, before trace_is_restarted_exec(). True: the notification is the restarted call
 * of an OUTCOME_FETCH_DESCRIPTOR, and *ret_fd is the fetched descriptor, owned by the caller, or -errno.
 */
bool trace_take_fetched_fd(struct tracer *tracer, pid_t tid, int nr, const __u64 *args, int *ret_fd);

/*
 * While a restarted call, of which trace_take_fetched_fd() was told, has got no response. True: *ret_fd is a further
 * duplicate of the fetched descriptor, owned by the caller, or -errno.
 */
bool trace_copy_fetched_fd(const struct tracer *tracer, pid_t tid, int nr, const __u64 *args, int *ret_fd);

/*
 * To be called before decoding, for every notification for which trace_take_fetched_fd() returned false. True: it is a
 * restarted exec that was approved, and is to be continued with CONTINUE_EXEC_VERIFIED. False: the call is to be
 * judged.
 */
bool trace_is_restarted_exec(struct tracer *tracer, pid_t tid, int nr, const __u64 *args);

/*
 * Handles a wait status. True: it was a stop. False: an exit; the thread's calls are forgotten, and the caller does the
 * rest. To be called with every status that waitpid(2) with __WALL returns, because seized threads' exits are reported
 * too.
 */
bool trace_on_wait_status(struct tracer *tracer, pid_t pid, int status);

/* Whether a seized thread is about to stop by itself, or is in an exec. While one is, no other thread may be seized. */
bool trace_must_end_calls_before_closing(const struct tracer *tracer);
/* Whether the thread is seized for a call. */
bool trace_has_thread(const struct tracer *tracer, pid_t tid);

/* The descriptors and mappings that a stopped thread is made to give up. */
struct trace_removal {
	int *fd;
	size_t fds;
	struct trace_range {
		uint64_t start, len;
	} *range; /* mappings */
	size_t range_count;   /* entries of range[] */
	uint64_t deadline_ns; /* time (io_read_clock_ns()) after which nothing more is removed */
};

/*
 * Makes a stopped thread, seized by this process, replace descriptors by one at which every call fails and nothing is
 * read, and make mappings inaccessible. Afterwards the thread is stopped where it was before. 0; -errno: some
 * descriptors or mappings are left.
 */
int trace_remove_fds_and_mappings(const struct tracer *tracer, pid_t tid, pid_t tgid,
				  const struct trace_removal *removal);

/* The number of calls that are being handled, or wait for their restart. For tests. */
size_t tracer_count_pending(const struct tracer *tracer);

/* Forgets the newest call of a thread that has exited. */
void trace_forget_thread(struct tracer *tracer, pid_t tid);

#endif
