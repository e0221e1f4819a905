/*
 * Restarts notified calls that a signal ended with EINTR although natively no signal ends them, such as stat or mkdir.
 *
 * Before the supervisor thread receives a notification the target thread waits interruptibly: a signal whose handler
 * lacks SA_RESTART ends the call (seccomp_do_user_notification() in kernel/seccomp.c). Therefore rt_sigreturn is
 * notified. Its signal frame shows which call the handler interrupted, and is rewritten so that this call is restarted,
 * as if the signal had come right before it. The rt_sigreturn is always continued.
 *
 * The program gains nothing by forging the frame: what is written are a number and an address, in registers that it
 * could set itself, and the restarted call is judged like any other.
 *
 * Called by dispatch.c in the supervisor thread. Nothing here is judged or recorded.
 */
#ifndef CALLGATE_SUPERVISOR_INTERRUPTED_H
#define CALLGATE_SUPERVISOR_INTERRUPTED_H

#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdint.h>

#include "syscalls/arch/frame.h"
#include "syscalls/call/memory.h"

#define INTERRUPTED_OPENS_MAX 64u /* threads whose last restarted open is remembered */

/*
 * A thread's last open that was restarted, or that waited for the other end of a FIFO. A restarted open must not wait:
 * natively the signal would have ended the wait. An open that has waited (had_to_wait) got EINTR, as natively.
 */
struct interrupted_open {
	pid_t tid; /* 0: the entry is empty */
	bool had_to_wait; /* it has waited for the other end of a FIFO */
	int nr;
	uint64_t pc;
	uint64_t arg[6];
	unsigned calls_since_open; /* how many other calls the thread has made since the open */
};

#define INTERRUPTED_NOT_RESTARTED_MAX 16u    /* threads whose last call without a restart is remembered */
#define INTERRUPTED_COMPARED_STACK_WORDS 16u /* words that must be equal for two calls to count as the same */

/* A thread's last call that could not be restarted: what tells whether a later call is the same one. */
struct interrupted_call_not_restarted {
	pid_t tid; /* 0: the entry is empty */
	struct frame frame;
	/* top of the stack, with return addresses; 0 beyond its end */
	uint64_t stack_slot[INTERRUPTED_COMPARED_STACK_WORDS];
};

#define INTERRUPTED_PROC_SYSCALLS_MAX 8u /* files /proc/TID/syscall that are kept open */

/* An open /proc/TID/syscall of a thread that lately returned from a handler. Not readable after the thread's death. */
struct interrupted_proc_syscall {
	pid_t tid; /* 0: the entry is empty */
	int fd;    /* owned */
};

/* To be initialised with zeros; then the caller sets `traits`. */
struct interrupted_calls {
	unsigned traits;    /* enum run_trait: which calls are notified */
	uint64_t restarted_count;           /* calls that were restarted */
	uint64_t not_restarted_count;       /* calls that could not be restarted: FRAME_CALL_UNKNOWN of frame.h */
	unsigned remembered_open_count;                /* entries of open[] in use */
	unsigned next_open_to_replace;      /* entry of open[] to be replaced next */
	struct interrupted_open open[INTERRUPTED_OPENS_MAX];
	struct interrupted_proc_syscall proc_syscall_file[INTERRUPTED_PROC_SYSCALLS_MAX];
	struct interrupted_call_not_restarted not_restarted[INTERRUPTED_NOT_RESTARTED_MAX];
};

void interrupted_release(struct interrupted_calls *interrupted);

/* At the notification of an rt_sigreturn: restarts the call that the handler interrupted, if need be. */
void interrupted_on_sigreturn(struct interrupted_calls *interrupted, const struct memory_ops *memory, int listener_fd,
			      const struct seccomp_notif *notification);

/* Whether the call is a restarted open, which must not wait for the other end of a FIFO. */
bool interrupted_is_restarted_open(struct interrupted_calls *interrupted, const struct seccomp_notif *notification);

/* Notes that this open waits for the other end of a FIFO. */
void interrupted_note_waiting_open(struct interrupted_calls *interrupted, const struct seccomp_notif *notification);

#endif
