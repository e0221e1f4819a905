/* Which refusals cannot have mattered: probes after which every program goes on. */
#ifndef CALLGATE_SYSCALLS_ACCOUNT_PROBES_H
#define CALLGATE_SYSCALLS_ACCOUNT_PROBES_H

#include <stdbool.h>

struct call;

/*
 * True for a refusal that is in the log like any other but neither listed in the result nor counted for the status: the
 * reason is DENIAL_EXPECTED, or no rule denied it and it is in the list of probes.c. What does not exist on the host is
 * no refusal in the first place: syscalls/file/resolve.c.
 */
bool probe_was_refused(const struct call *call);

#endif
