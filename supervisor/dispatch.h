/*
 * Handles one notification: decodes and judges the call, records it and has outcome.c perform it. Whatever goes wrong
 * on the way denies the call. Called by the supervisor's loop, in the supervisor thread only.
 */
#ifndef CALLGATE_SUPERVISOR_DISPATCH_H
#define CALLGATE_SUPERVISOR_DISPATCH_H

#include <linux/seccomp.h>
#include <stdint.h>

#include "supervisor/blocking.h"
#include "supervisor/cpu/cpu.h"
#include "supervisor/gateway/client.h"
#include "supervisor/interrupted.h"
#include "supervisor/redirects.h"
#include "supervisor/trace/trace.h"
#include "syscalls/call/call.h"

struct dispatch {
	struct sandbox *sandbox;
	struct tracer *tracer;
	struct blocking *blocking;
	struct egress_client *egress; /* set by the caller; NULL: no network */
	struct cpu *cpu;              /* set by the caller; NULL: CPU placement is off */
	uint64_t ended_ns;            /* io_now_ns() just before the last response; 0: unknown */
	struct call *call;            /* owned; reused for every notification, because it is large */
	uint64_t judged, allowed, denied;
	uint64_t expected;              /* denied calls that are probes: account/probes.h */
	uint64_t *by_row;               /* judged calls, indexed as table_rows(). Owned */
	struct interrupted interrupted; /* traits are set by the caller */
	struct redirects redirects;
};

/* Borrows its arguments. 0, or -ENOMEM with nothing to release. */
int dispatch_init(struct dispatch *dispatch, struct sandbox *sandbox, struct tracer *tracer, struct blocking *blocking);
void dispatch_done(struct dispatch *dispatch);

/*
 * Judges, records and performs the call of a notification. The response is sent now, or later by what outcome.c
 * started (blocking.c, trace/, gateway/).
 */
void dispatch_notification(struct dispatch *dispatch, const struct seccomp_notif *notification);

#endif
