/* Duplicates of the target's file descriptors, for handlers that act on the file description. */
#ifndef CALLGATE_SYSCALLS_CALL_DESCRIPTOR_H
#define CALLGATE_SYSCALLS_CALL_DESCRIPTOR_H

#include "syscalls/call/call.h"

/*
 * A duplicate, owned by the caller; or -1 with the outcome set: EBADF, OUTCOME_GONE, or, where pidfd_getfd(2) is
 * refused, OUTCOME_FETCH: the target is made to send it, and its call is restarted. So call this before the first
 * effect.
 */
int descriptor_copy(struct call *call, int fd);

/*
 * Whether pidfd_getfd(2) works. If not, sendmsg(2) is continued, so that targets can send their descriptors. Datagrams
 * would then be sent unjudged, so there are no UDP sockets without a network namespace (TCP and unix stream sockets
 * ignore the address in a message). If it works in a run with a network, no descriptor is fetched.
 */
bool descriptor_direct(void);

/* A further duplicate for the same call, which is never fetched: EPERM "descriptor_unreachable" instead. */
int descriptor_copy_nth(struct call *call, int fd, unsigned n);

#endif
