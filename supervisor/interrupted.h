/*
 * No judged call ends with EINTR that natively never does.
 *
 * Until the supervisor thread has received a notification its task waits interruptibly, and a signal whose handler
 * lacks SA_RESTART makes the call end with EINTR (seccomp_do_user_notification() in kernel/seccomp.c): a stat, an
 * open, a mkdir. So rt_sigreturn is notified. While it waits, the signal frame tells which call the handler
 * interrupted; when that was one that was notified, and that natively no signal ends, the frame is rewritten so
 * that the call runs again, as if the signal had come right before it. The rt_sigreturn is continued in any case.
 *
 * What the program gains by it: nothing. Frame and code are its own memory and can be forged, also by another
 * thread meanwhile; written are a number and an address, over registers it could set itself, and the call that
 * then is made is judged as any.
 *
 * Used by the supervisor thread alone. Unrecorded: nothing is judged.
 */
#ifndef CALLGATE_SUPERVISOR_INTERRUPTED_H
#define CALLGATE_SUPERVISOR_INTERRUPTED_H

#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdint.h>

#include "syscalls/arch/frame.h"
#include "syscalls/call/memory.h"

#define INTERRUPTED_OPENS 64u

/*
 * The last open of a task that was restarted, or that was received and had to wait, for the other end of a FIFO.
 * The former must not wait when it comes again: natively the signal would have ended that. The EINTR of the latter
 * is our own answer.
 */
struct interrupted_open {
	pid_t tid; /* 0: none */
	bool waited;
	int nr;
	uint64_t pc;
	uint64_t arg[6];
	unsigned others; /* calls of the task since then */
};

#define INTERRUPTED_LEFT 16u
#define INTERRUPTED_SLOTS 16u

/* The frame of a call that could not be restarted: all that says which call it was. */
struct interrupted_left {
	pid_t tid; /* 0: none */
	struct frame frame;
	uint64_t slot[INTERRUPTED_SLOTS]; /* of the task's stack, with return addresses; 0 where there is none */
};

#define INTERRUPTED_SOURCES 8u

/*
 * /proc/TID/syscall of a task that returned from a handler lately; it stays that task's, also when the number is
 * used again.
 */
struct interrupted_source {
	pid_t tid; /* 0: none */
	int fd;    /* owned */
};

/* Zero-initialise, then set filter. */
struct interrupted {
	unsigned traits; /* of the run: they tell which calls are notified */
	uint64_t restarted; /* calls */
	uint64_t left; /* calls that could not be restarted: frame.h, FRAME_UNKNOWN */
	unsigned opens; /* how many of open[] are in use */
	unsigned next;  /* the one to be given up when there are more */
	struct interrupted_open open[INTERRUPTED_OPENS];
	struct interrupted_source source[INTERRUPTED_SOURCES];
	struct interrupted_left last[INTERRUPTED_LEFT];
};

void interrupted_done(struct interrupted *interrupted);

/*
 * The task of this notification waits in rt_sigreturn: restarts the call that its handler interrupted, if that has
 * to be.
 */
void interrupted_return(struct interrupted *interrupted, const struct memory_ops *guest, int listener_fd,
			const struct seccomp_notif *notification);

/*
 * True when this is a restarted open, which must not wait (a FIFO's): natively it would have ended with EINTR by
 * now.
 */
bool interrupted_again(struct interrupted *interrupted, const struct seccomp_notif *notification);

/* This open waits. */
void interrupted_waits(struct interrupted *interrupted, const struct seccomp_notif *notification);

#endif
