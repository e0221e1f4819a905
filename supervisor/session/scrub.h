/*
 * Clears what the spawner has inherited of the supervisor's memory: policy, secrets, keys, the log's state, and pages
 * that the supervisor shares with the keeper. A program of a session may read and write the memory of another program,
 * and each program is a copy of the spawner's memory until its exec. Async-signal-safe.
 */
#ifndef CALLGATE_SUPERVISOR_SESSION_SCRUB_H
#define CALLGATE_SUPERVISOR_SESSION_SCRUB_H

#include <stddef.h>

/* bytes of the stack of the caller and its callers that are not cleared, from the frame of scrub_memory() on */
#define SCRUB_STACK_KEPT_BYTES 8192u

/* Notes the mappings of this process. Called before the filter, which would judge the open. 0 or -errno. */
int scrub_remember_mappings(void);

/*
 * Clears private memory but for variables of the executable and its libraries, and the stack but for
 * SCRUB_STACK_KEPT_BYTES; unmaps shared memory but for the mapping with `kept`. Afterwards no function may return whose
 * frame was cleared, and malloc(3) must not be used. Does nothing in a build with sanitizers, whose memory must stay.
 */
void scrub_memory(const void *kept);

#endif
