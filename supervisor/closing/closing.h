/*
 * Takes away what the run loses when an entry of after_read fires (syscalls/account/result/after.h). All threads of the
 * run are stopped. Each gives up the descriptors and mappings by which it could write a file that is closed now, its
 * internet sockets, and unix sockets with descriptors in flight. Egress ends. Where that is not possible, the process
 * is killed. Only then the call that fired the entry is made again.
 *
 * Used by dispatch.c and loop.c, in the supervisor thread. While a call waits, no other notification is received.
 */
#ifndef CALLGATE_SUPERVISOR_CLOSING_CLOSING_H
#define CALLGATE_SUPERVISOR_CLOSING_CLOSING_H

#include <stdbool.h>
#include <sys/types.h>

#include "supervisor/workers/blocking.h"
#include "supervisor/workers/copies.h"
#include "supervisor/gateway/client.h"
#include "supervisor/trace/trace.h"
#include "syscalls/call/call.h"

struct closing;

/* Parts of the supervisor that stopping threads and removing what they hold needs. */
struct closing_options {
	struct sandbox *sandbox; /* its after_entries must not be NULL */
	struct tracer *tracer;
	struct blocking *blocking;
	struct copies *copies;
	struct egress_client *egress; /* NULL: no network */
	const struct asker *asker;    /* NULL: no denial is asked about */
};

/* Borrows what the options point to. 0 or -errno. */
int closing_create(const struct closing_options *options, struct closing **ret_closing);
void closing_free(struct closing *closing);

/* Fires the entries of call->after_entries_to_fire. The call waits until closing_continue_removal() responds to it. */
void closing_fire_entries(struct closing *closing, struct call *call);
/* If a call waits, closing_continue_removal() is to be called at each turn of the loop, and nothing is received. */
bool closing_has_waiting_call(const struct closing *closing);
void closing_continue_removal(struct closing *closing);

/*
 * To be called for each ptrace stop, before the tracer handles it. True: while the other threads were stopped, this
 * thread waited for a response or for its vfork child. Now its forbidden descriptors and mappings have been removed,
 * and it was resumed.
 */
bool closing_on_stop(struct closing *closing, pid_t tid, int status);
/* To be called for each exit of a thread. */
void closing_forget_thread(struct closing *closing, pid_t tid);

#endif
