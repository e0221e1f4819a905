/*
 * Responses to notifications: no other code makes any (tests/layering.sh). A call is answered with a value or an
 * errno, is given a descriptor first, or is continued, which means that the kernel performs it. seccomp_unotify(2).
 *
 * Called by the supervisor thread (dispatcher, tracer, egress' client) and by the workers of blocking.c, which share
 * nothing else here. A failure is of no interest to any of them: the target thread has died, and nobody waits.
 */
#ifndef CALLGATE_SUPERVISOR_ANSWER_H
#define CALLGATE_SUPERVISOR_ANSWER_H

#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdint.h>

#include "syscalls/call/call.h"

/* Kernel only (ERESTARTSYS of linux/errno.h): EINTR, or the call again after a handler with SA_RESTART. */
#define ANSWER_RESTART (-512)

/* ---- at once: the caller ends the record. Each 0 or more, or -ENOENT when nobody waits any more ---- */

int answer_value(int listener_fd, uint64_t id, int64_t value);
int answer_error(int listener_fd, uint64_t id, int error); /* -errno */
/*
 * Gives the target process a descriptor for what fd refers to. Takes fd. Returns its number there, with which
 * answer_value answers an open; or -errno: -EMFILE when its table is full, -EINTR when nobody waits any more.
 *
 * The number is not known before our descriptor is closed. So when the call returns, the target's is the only one:
 * its close(2) releases locks, ends a FIFO and is seen by inotify at once. SECCOMP_ADDFD_FLAG_SEND would answer in
 * the same step, while this thread and, until the ioctl(2) returns, the kernel for it still hold the file
 * (seccomp_notify_addfd() in kernel/seccomp.c). Before Linux 5.19 (no WAIT_KILLABLE_RECV) a signal that comes
 * between the two steps ends the call with EINTR, and the descriptor stays open in the program.
 */
int answer_add(int listener_fd, uint64_t id, int fd, bool cloexec);

/* Why it does no harm that the kernel acts on what is in the program's memory by then. */
enum continue_reason {
	CONTINUE_ROW,      /* the row: its verdict rests on registers (BASIS_REGS) */
	CONTINUE_BOUNDED,  /* of BASIS_NETNS, BASIS_MOUNTNS: a namespace bounds what the call can reach */
	CONTINUE_VERIFIED, /* of BASIS_EXEC: the tracer verifies the new image before it runs an instruction */
};

/*
 * The kernel performs the call: these two are the only places that say so. A call whose verdict rests on memory
 * never is continued, whoever asks: it is answered with EPERM, and -EPERM is returned.
 */
int answer_continue(int listener_fd, uint64_t id, const struct syscall_row *row, enum continue_reason reason);
/*
 * The same for a call that is notified for its own sake: its registers match what the row says the filter may let
 * pass.
 */
int answer_pass(int listener_fd, const struct seccomp_notif *notification, const struct syscall_row *row);

/* ---- later ---- */

/* A response that is due: what it and the end of the call's record need. */
struct answer {
	struct sandbox *sandbox; /* borrowed */
	uint64_t id;             /* of the notification */
	uint64_t start_ns;
	struct audit_slot slot;
};

/* The call must be on record. */
struct answer answer_later(const struct call *call);
/* False: the target thread has died, or a signal has ended its call. */
bool answer_is_awaited(const struct answer *answer);
/* Responds with a value or -errno (or ANSWER_RESTART, which is EINTR on record) and ends the record. Once. */
void answer_end(const struct answer *answer, int64_t result);

#endif
