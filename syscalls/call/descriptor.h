/* Duplicates of the target's file descriptors, for handlers that act on the file description. */
#ifndef CALLGATE_SYSCALLS_CALL_DESCRIPTOR_H
#define CALLGATE_SYSCALLS_CALL_DESCRIPTOR_H

#include "syscalls/call/call.h"

/*
 * A duplicate of a target's descriptor, owned by the caller, or -1 with the outcome set: EBADF, OUTCOME_TARGET_GONE, or
 * OUTCOME_FETCH_DESCRIPTOR where pidfd_getfd(2) is refused. To be called before any effect: OUTCOME_FETCH_DESCRIPTOR
 * restarts the call.
 */
int descriptor_copy(struct call *call, int fd);

/*
 * Keeps a duplicate (taken) of a descriptor of the target, which the next descriptor_copy() of this call returns. The
 * handler must call descriptor_copy() for that same descriptor.
 */
void descriptor_keep_fetched_copy(struct call *call, int copy);

/*
 * Whether pidfd_getfd(2) works. If not, targets send their descriptors by sendmsg(2) (OUTCOME_FETCH_DESCRIPTOR), which
 * the filter has to allow. The program could then send datagrams that are not judged. So it gets no UDP sockets without
 * a network namespace. (TCP and unix stream sockets ignore addresses.) If pidfd_getfd(2) works and the run has a
 * network or unix datagrams, sendmsg(2) is judged, and OUTCOME_FETCH_DESCRIPTOR is not used.
 */
bool descriptor_pidfd_getfd_works(void);

/*
 * Duplicates a further descriptor of the target for the same call. Fails with EPERM "descriptor_unreachable", never by
 * OUTCOME_FETCH_DESCRIPTOR.
 */
int descriptor_copy_second_of_call(struct call *call, int fd);

#endif
