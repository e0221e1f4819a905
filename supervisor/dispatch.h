/* One notification from receipt to response: it is judged here, and answered by outcome.c. Fails closed. */
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
	struct egress_client *egress; /* NULL: there is no network. Set by the caller */
	struct cpu *cpu; /* likewise; NULL: placement is off */
	uint64_t ended_ns; /* the clock as it was last looked at during the last call, at its response; 0: it was not */
	struct call *call; /* owned; reused, because it is large */
	uint64_t judged, allowed, denied, expected; /* expected: of the denied ones, DENIAL_EXPECTED */
	uint64_t *by_row; /* owned */
	struct interrupted interrupted; /* its filter is set by the caller */
	struct redirects redirects;
};

int dispatch_init(struct dispatch *dispatch, struct sandbox *sandbox, struct tracer *tracer, struct blocking *blocking);
void dispatch_done(struct dispatch *dispatch);

/* Judges, records, performs and answers. */
void dispatch_notification(struct dispatch *dispatch, const struct seccomp_notif *notification);

#endif
