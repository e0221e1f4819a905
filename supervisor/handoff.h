/*
 * Giving a descriptor (ADDFD) wakes the task that takes it without the flag that keeps it here: the scheduler moves it to an
 * idle CPU, an interrupt away, and back at its next call. While one task makes call after call, that task and the receiver
 * are therefore kept on one CPU, when measuring shows that it helps and as long as it does.
 *
 * Nobody is to notice. The mask is put back before the task makes another (which would inherit it), before anybody asks for
 * one, before somebody else's call is handled, some milliseconds after the last call, and when others want that CPU.
 */
#ifndef CALLGATE_SUPERVISOR_HANDOFF_H
#define CALLGATE_SUPERVISOR_HANDOFF_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define HANDOFF_IDLE_MS 5 /* after so long without a call nobody is kept any more */

struct handoff;
struct task;

/* False on a machine, or with a mask, of one CPU: then there is nothing to do, and no call needs to be notified for it. */
bool handoff_possible(void);

/* For the calling thread, the receiver, which makes all other calls as well. 0 or -errno. */
int handoff_create(struct handoff **ret_handoff);
/* Like all that follow, takes NULL: it is off. */
void handoff_free(struct handoff *handoff);

/* A call begins. Before it is handled the masks are put back, if it is another task's or one that would show or pass on them. */
void handoff_call(struct handoff *handoff, pid_t tid, int nr);

/* The task is about to be given a descriptor: keeps it here if that has cost enough. Borrows it until handoff_forget. */
void handoff_before(struct handoff *handoff, const struct task *task, uint64_t now_ns);
/* It was given in so many nanoseconds. */
void handoff_after(struct handoff *handoff, uint64_t took_ns, uint64_t now_ns);

/* Puts back both masks, for something that must not see or inherit them. */
void handoff_release(struct handoff *handoff);
/* The same, and keeps nobody for the next moments: what was opened shows masks when it is read. */
void handoff_pause(struct handoff *handoff, uint64_t now_ns);

/* The task is dead; to be called before its entry goes. */
void handoff_forget(struct handoff *handoff, const struct task *task);

/* At each turn of the loop. Milliseconds until it has to be called again, -1: whenever there is a call. */
int handoff_tick(struct handoff *handoff, uint64_t now_ns);

/* The task that is kept, or 0. */
pid_t handoff_kept(const struct handoff *handoff);

#endif
