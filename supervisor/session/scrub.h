/*
 * Clears what the spawner has inherited of the supervisor's memory: policy, secrets, keys, the log's state, and pages
 * that the supervisor shares with the keeper. A program of a session may read and write the memory of another one, and
 * a program that the spawner has just made is a copy of it until its exec. Async-signal-safe.
 */
#ifndef CALLGATE_SUPERVISOR_SESSION_SCRUB_H
#define CALLGATE_SUPERVISOR_SESSION_SCRUB_H

#include <stddef.h>

#define SCRUB_STACK_KEPT_BYTES 8192u /* of the caller and its callers, from the frame of scrub_memory() on */

/* Notes the mappings of this process. Called before the filter, which would judge the open. 0 or -errno. */
int scrub_note_mappings(void);

/*
 * Clears private memory but for variables of the executable and its libraries, and the stack but for
 * SCRUB_STACK_KEPT_BYTES; unmaps shared memory but for the mapping with `kept`. Afterwards no function may return whose
 * frame was cleared, and malloc(3) must not be used. Does nothing in a build with sanitizers, whose memory must stay.
 */
void scrub_memory(const void *kept);

#endif
