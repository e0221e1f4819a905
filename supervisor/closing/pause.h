/*
 * Stops all programs of a session, and lets them go on: by ptrace(2), which their parents do not notice. The hidden
 * processes of the session (spawner, monitors) go on. Used by session/ and loop.c, in the supervisor thread.
 */
#ifndef CALLGATE_SUPERVISOR_CLOSING_PAUSE_H
#define CALLGATE_SUPERVISOR_CLOSING_PAUSE_H

#include <stdbool.h>
#include <sys/types.h>

#include "supervisor/closing/closing.h"

struct pause;

/*
 * Borrows what the options point to, whose after_entries may be NULL, and closing. closing NULL: the policy has no
 * after_read. 0 or -ENOMEM.
 */
int pause_create(const struct closing_options *options, struct closing *closing, struct pause **ret_pause);
void pause_free(struct pause *pause);

/*
 * Stops every thread of the run. The caller makes sure that no further process is started. 0; on an error all threads
 * go on: -EAGAIN: a traced call has to end before; -EBUSY: a thread could not be traced, or did not stop.
 */
int pause_stop_threads(struct pause *pause);
void pause_resume_threads(struct pause *pause);
bool pause_is_active(const struct pause *pause);

/*
 * To be called for each ptrace stop, before closing_on_stop() and the tracer handle it. True: the stop is kept until
 * the threads go on.
 */
bool pause_on_stop(struct pause *pause, pid_t tid, int status);
/* To be called for each exit of a thread. */
void pause_forget_thread(struct pause *pause, pid_t tid);

#endif
