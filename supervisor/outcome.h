/*
 * Performs the outcome of a call that was judged and recorded: responds at once through answer.c, or starts what will
 * respond (a worker thread, the tracer, egress' client). Called by dispatch.c, in the supervisor thread.
 */
#ifndef CALLGATE_SUPERVISOR_OUTCOME_H
#define CALLGATE_SUPERVISOR_OUTCOME_H

#include "supervisor/dispatch.h"

/* Performs the outcome of dispatch->call, or starts what performs it. Then releases what the outcome still owns. */
void outcome_carry_out(struct dispatch *dispatch);

/* Whether the kernel may perform the call: by its row's basis, or because a namespace bounds what it can reach. */
bool outcome_may_continue(const struct call *call);

/* Releases what an outcome owns. May be called again. */
void outcome_release(struct outcome *outcome);

#endif
