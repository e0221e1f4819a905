/* Finds refusals that do not matter: programs probe for a file or feature, and go on without it. */
#ifndef CALLGATE_SYSCALLS_ACCOUNT_RESULT_PROBES_H
#define CALLGATE_SYSCALLS_ACCOUNT_RESULT_PROBES_H

#include <stdbool.h>

struct call;

/*
 * Whether a refusal is a probe, which is in the log, but neither listed in the result nor counted for the status. Its
 * reason is DENIAL_REASON_PROBE, or no rule denied it and probes.c lists it. A name that does not exist on the host
 * fails with ENOENT and is no denial: syscalls/file/resolve.c.
 */
bool probe_is_refused_call(const struct call *call);

#endif
