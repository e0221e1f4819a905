/* A duplicate of a descriptor the program holds, for calls that are performed on the object behind it. */
#ifndef CALLGATE_SYSCALLS_CALL_DESCRIPTOR_H
#define CALLGATE_SYSCALLS_CALL_DESCRIPTOR_H

#include "syscalls/call/call.h"

/*
 * Returns it, owned by the caller; or -1 with the outcome set: EBADF, the caller gone, or OUTCOME_FETCH: where
 * pidfd_getfd(2) is refused the task is made to send it, and its call comes round again. So ask before the first
 * effect.
 */
int descriptor_copy(struct call *call, int fd);

/*
 * Whether pidfd_getfd(2) works here. If it does not, sendmsg(2) has to be native for the task to send its descriptors.
 * Then datagrams would be sent unseen, so that without a network namespace there are no UDP sockets: of TCP and unix
 * ones the name in a message leads nowhere. While it works in a run with a network, nothing is fetched.
 */
bool descriptor_direct(void);

/* A further one of the same call (n > 0), which the task cannot be made to send: then EPERM, on record. */
int descriptor_copy_nth(struct call *call, int fd, unsigned n);

#endif
