/* What follows once a call is judged and on record: how each kind of outcome is answered, and what it owns. */
#ifndef CALLGATE_SUPERVISOR_OUTCOME_H
#define CALLGATE_SUPERVISOR_OUTCOME_H

#include "supervisor/dispatch.h"

/* What has become of a call's notification. */
enum call_state {
	CALL_OPEN,      /* nobody has responded yet */
	CALL_ANSWERED,  /* the response is sent, and the record has its end */
	CALL_PENDING,   /* a worker, egress' client or the tracer responds later, and ends the record */
	CALL_RESTARTED, /* the target thread makes its call again, which is judged and recorded then */
};

/* Answers dispatch->call, or starts what does. CALL_ANSWERED or CALL_PENDING. What the outcome owned is released. */
enum call_state outcome_answer(struct dispatch *dispatch);

/* Whether the kernel may perform the call: its row says what the verdict rests on, a namespace may bound the rest. */
bool outcome_may_continue(const struct call *call);

/* Releases what an outcome owns that is not to be answered. */
void outcome_release(struct outcome *outcome);

#endif
