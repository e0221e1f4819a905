/*
 * A worker thread that copies a large file before a call is judged again (OUTCOME_COPY_FIRST). It makes one copy at a
 * time: other calls that need one wait for it without a thread, and are then judged again in the order in which they
 * came. So calls on the file that is being copied find it copied, each copy counts for limits.disk before the next one
 * is admitted, and no number of calls takes all workers. Called in the supervisor thread.
 */
#ifndef CALLGATE_SUPERVISOR_WORKERS_COPIES_H
#define CALLGATE_SUPERVISOR_WORKERS_COPIES_H

#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "syscalls/call/kept.h"

struct copies;

/* A call that is to be judged again. */
struct copies_ended {
	struct seccomp_notif notification;
	uint64_t start_ns; /* when the call was received first */
	int64_t result;    /* of the work that was done for it; 0: none was */
	struct kept_call *judged; /* as it was judged before; owned by the caller: free() */
};

/* 0 or -ENOMEM. SIGUSR1 must have a handler, as for blocking_create(). */
int copies_create(struct copies **ret_copies);
/* Ends the copy and waits for the thread, when every process of the run is dead. Then copies_pop() gives all calls. */
void copies_end(struct copies *copies);
/* Does so, and frees what is left. copies may be NULL. */
void copies_free(struct copies *copies);

/*
 * Begins the work of OUTCOME_COPY_FIRST, or lets the call wait until no other is done. No response is sent, and nothing
 * recorded: copies_pop() gives the notification back. 0 or -errno; what is not taken of the outcome is the caller's.
 */
int copies_begin(struct copies *copies, struct call *call, const struct seccomp_notif *notification);
/*
 * Lets a call wait that would have the threads of the run stopped, as long as copies_have_calls(): the tracer could not
 * seize them any more, which some of their calls need. It is judged again as the others. 0 or -ENOMEM.
 */
int copies_wait_for_others(struct copies *copies, const struct call *call, const struct seccomp_notif *notification);
/*
 * The same for no call, without waiting: for what a client asks. Takes *fd and *work, and sets them to -1 and NULL. 0;
 * -EBUSY: another copy is being made; or -errno.
 */
int copies_begin_for_client(struct copies *copies, int *fd, struct call_work **work);
/* Whether a call waits for a copy, or a copy is made for a client. */
bool copies_have_calls(const struct copies *copies);
/* Whether a copy is being made, or its end has not been collected yet. */
bool copies_are_being_made(const struct copies *copies);
/* Ends the work of a copy that the thread has made. To be called at each turn of the loop; the thread makes one. */
void copies_collect(struct copies *copies);
/* The next call that is to be judged again. False: none is, before copies_collect() has ended a copy. */
bool copies_pop(struct copies *copies, struct copies_ended *ret_ended);

/* Whether a call of this thread waits, for whatever. */
bool copies_serve_thread(const struct copies *copies, pid_t tid);
/*
 * Interrupts the copy if its thread does not wait any more. True while there is one: then this is to be called again
 * within COPIES_CHECK_INTERVAL_MS.
 */
bool copies_check(struct copies *copies);
#define COPIES_CHECK_INTERVAL_MS 20

#endif
