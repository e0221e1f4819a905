/*
 * Giving a descriptor (ADDFD) wakes the task that takes it without the flag that keeps it here: the scheduler moves it to an
 * idle CPU, an interrupt away, and back at its next call. While a task makes call after call, that task and the receiver
 * are therefore kept on one CPU, when measuring shows that it helps and as long as it does: several tasks only when they
 * do little else (handoff.c).
 *
 * The stops of a traced exec, the end of a child and each fork scatter a run in the same way. So it begins, and goes on, with
 * all its tasks and the receiver on one CPU until more than one of them wants it (handoff-together.c). In the pauses of that each
 * process that calls has a home, a CPU of its own (handoff-homes.c); single tasks are kept only where there are no homes.
 *
 * Nobody is to notice. Masks are put back before anybody asks for one, before the call of somebody who is not kept (but for
 * several), some milliseconds after a task's last call, and when others want that CPU. Tasks that a kept one made meanwhile
 * have inherited its mask: they are found by their numbers, which are given in order, and get theirs at the same moments; a
 * fork that was under way then, somewhat later. Making them is not notified for that: fork(2) must not end with EINTR,
 * as a call can that a signal interrupts before it is received.
 *
 * A run that ever sets a mask itself is left alone from then on.
 */
#ifndef CALLGATE_SUPERVISOR_CPU_CPU_H
#define CALLGATE_SUPERVISOR_CPU_CPU_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define HANDOFF_IDLE_MS 4 /* after one or two of these without a call nobody is kept any more */

struct handoff;
struct task;
struct tree;

/* False on a machine, or with a mask, of one CPU: then there is nothing to do, and no call needs to be notified for it. */
bool handoff_possible(void);

/*
 * What says which number was given to a task last, in our pid namespace, whichever procfs is asked. proc_fd: one that has
 * it; -1: /proc. A descriptor or -errno.
 */
int handoff_loadavg(int proc_fd);

/*
 * For the calling thread, the receiver, which makes all other calls as well. Borrows the tree, which says who is in the run.
 * loadavg_fd: from handoff_loadavg; taken. 0 or -errno.
 */
int handoff_create(struct tree *tree, int loadavg_fd, struct handoff **ret_handoff);
/* Like all that follow, takes NULL: it is off. */
void handoff_free(struct handoff *handoff);

/* The program, before its execve is answered and before it is reaped: it and all that it makes begin on the CPU where we are. */
void handoff_begin(struct handoff *handoff, pid_t program);

/* A call begins: the masks are put back where that has to be before it is handled. */
void handoff_call(struct handoff *handoff, pid_t tid, int nr);

/* Who called is known, and waits for us: may bring all of the run together. Follows handoff_call. */
void handoff_known(struct handoff *handoff, const struct task *task, int nr, uint64_t now_ns);

/* The task is about to be given a descriptor: keeps it here if that has cost enough. Borrows it until handoff_forget. */
void handoff_before(struct handoff *handoff, const struct task *task, uint64_t now_ns);
/* It was given in so many nanoseconds. */
void handoff_after(struct handoff *handoff, uint64_t took_ns, uint64_t now_ns);

/* The receiver is about to make a thread, and has made it: its mask is not to be inherited. */
void handoff_apart(struct handoff *handoff);
void handoff_again(struct handoff *handoff);

/* Puts back all masks, for something that must not see or inherit them. */
void handoff_release(struct handoff *handoff);
/* The same, and keeps nobody for the next moments: what was opened shows masks when it is read. */
void handoff_pause(struct handoff *handoff, uint64_t now_ns);

/* The task is dead; to be called before its entry goes. */
void handoff_forget(struct handoff *handoff, const struct task *task);

/* At each turn of the loop. Milliseconds until it has to be called again, -1: whenever there is a call. */
int handoff_tick(struct handoff *handoff, uint64_t now_ns);

bool handoff_keeps(const struct handoff *handoff, pid_t tid);

#endif
