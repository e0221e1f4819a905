/* One notification from receipt to reply: the only place that answers. Fails closed. */
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
#include "supervisor/watchdog.h"
#include "syscalls/call/call.h"

struct dispatch {
	struct sandbox *sandbox;
	struct tracer *tracer;
	struct blocking *blocking;
	struct egress_client *egress; /* NULL: there is no network. Set by the caller */
	struct watchdog *watchdog; /* of the thread that dispatches. Set by the caller */
	struct handoff *handoff;   /* likewise; NULL: it is off */
	uint64_t ready_ns; /* of the last call: when the answer was ready to be given; 0: not, or not yet */
	uint64_t ended_ns; /* the clock as it was looked at last: then, or after a descriptor was given; 0 likewise */
	struct call *call; /* owned; reused, because it is large */
	uint64_t judged, allowed, denied, expected; /* expected: of the denied ones, DENIAL_EXPECTED */
	uint64_t *by_row; /* owned */
	struct interrupted interrupted; /* its filter is set by the caller */
	struct redirects redirects;
};

int dispatch_init(struct dispatch *dispatch, struct sandbox *sandbox, struct tracer *tracer, struct blocking *blocking);
void dispatch_done(struct dispatch *dispatch);

/* Judges, performs, records and answers. */
void dispatch_notification(struct dispatch *dispatch, const struct seccomp_notif *notification);

#endif
