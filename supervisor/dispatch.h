/*
 * Handles one notification: decodes and judges the call, records it and has outcome.c perform it. Whatever goes wrong
 * on the way denies the call. Called by the supervisor's loop, in the supervisor thread only.
 */
#ifndef CALLGATE_SUPERVISOR_DISPATCH_H
#define CALLGATE_SUPERVISOR_DISPATCH_H

#include <linux/seccomp.h>
#include <stdint.h>

#include "supervisor/workers/blocking.h"
#include "supervisor/workers/copies.h"
#include "supervisor/closing/closing.h"
#include "supervisor/cpu/cpu.h"
#include "supervisor/gateway/client.h"
#include "supervisor/interrupted.h"
#include "supervisor/trace/trace.h"
#include "syscalls/call/call.h"

#define COUNTED_REDIRECTS_MAX 64 /* most redirects whose uses are counted */

/* How often a redirect of the policy was used for one kind of access. */
struct redirect {
	const struct mount *mount; /* borrowed from the view */
	const char *access_kind;   /* the kind of access, named as in a denial; static */
	uint64_t count;            /* calls whose path was redirected */
};

/* Judged calls, for the result. */
struct call_counts {
	uint64_t judged, allowed, denied;
	uint64_t observed_denial_count; /* allowed calls that the judged policy denies */
	uint64_t allowed_by_answer_count; /* denied calls that were allowed by the answer to a question */
	uint64_t refused_probe_count;     /* denied calls that are probes: account/result/probes.h */
	uint64_t *call_count_by_row;  /* count of each row, indexed as table_get_rows(); owned */
	struct redirect redirect[COUNTED_REDIRECTS_MAX];
	size_t redirect_count; /* used entries of redirect[] */
};

/* What a call has that is judged again, after OUTCOME_COPY_FIRST. */
struct dispatch_again {
	uint64_t id;        /* of its notification; 0: none is judged again */
	uint64_t start_ns;  /* when it was received first */
	int fill_error;     /* call.fill_error */
	bool copies_inline; /* call.copies_inline */
	struct kept_call *judged; /* as it was judged before; borrowed; NULL: it is on record */
};

/* What handles notifications: judges, performs, records and responds. */
struct dispatch {
	struct sandbox *sandbox;
	struct tracer *tracer;        /* set by the caller, like the members from here to `cpu` */
	struct blocking *blocking;
	struct copies *copies;
	struct egress_client *egress; /* NULL: no network */
	struct cpu *cpu;              /* NULL: CPU placement is off */
	struct asker *asker;          /* ask/ask.h; NULL: no denial is asked about */
	struct session *session;      /* NULL: a run of one program */
	struct closing *closing;      /* NULL: the policy has no after_read, or observes */
	uint64_t last_response_ns;            /* io_read_clock_ns() just before the last response; 0: unknown */
	struct call *call;            /* owned; reused for every notification, because it is large */
	struct call_counts counts;
	struct dispatch_again again;           /* the call that is judged again */
	bool decoy_read_ends_run;              /* a decoy was read whose reading ends the run */
	bool answer_ends_run;                  /* a question was answered by "stop" */
	struct interrupted_calls interrupted_calls; /* dispatch_init() leaves interrupted_calls.traits to the caller */
};

/* Initialises a zeroed struct. Borrows the sandbox. 0 or -ENOMEM; dispatch_release releases in both cases. */
int dispatch_init(struct dispatch *dispatch, struct sandbox *sandbox);
void dispatch_release(struct dispatch *dispatch);

/*
 * Judges, records and performs the call of a notification. The response is sent now, or later by what outcome.c
 * started (blocking.c, trace/, gateway/).
 */
void dispatch_notification(struct dispatch *dispatch, const struct seccomp_notif *notification);

/* The same for one that has waited for a copy, after OUTCOME_COPY_FIRST. Frees ended->judged. */
void dispatch_after_copy(struct dispatch *dispatch, const struct copies_ended *ended);

/* Ends the copies, when every process of the run is dead, and records the calls that waited for them. */
void dispatch_end_copies(struct dispatch *dispatch);

#endif
