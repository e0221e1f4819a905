/* The listener: receive a notification, answer it. seccomp_unotify(2). */
#ifndef CALLGATE_SUPERVISOR_NOTIFY_H
#define CALLGATE_SUPERVISOR_NOTIFY_H

#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdint.h>

#include "syscalls/table/table.h"

/* Asks for wake-ups that keep both ends on one CPU (Linux 6.6); without it everything is only slower. */
void notify_prepare(int listener_fd);

/* 0; -ENOENT when the task died or was interrupted meanwhile; other -errno: the listener is unusable. */
int notify_receive(int listener_fd, struct seccomp_notif *ret_notification);

/* Each answer: 0 or more, or -ENOENT when nobody waits any more. */
int notify_value(int listener_fd, uint64_t id, int64_t value);
int notify_error(int listener_fd, uint64_t id, int error);
/*
 * Gives the waiting task a descriptor for what fd refers to. Takes fd. Returns its number there, with which
 * notify_value answers an open; or -errno: -ENOENT when nobody waits any more, -EMFILE when the task's table is
 * full.
 *
 * The number is not known before our descriptor is closed. So when the call returns, the task's is the only one:
 * its close(2) releases locks, ends a FIFO and is seen by inotify at once. SECCOMP_ADDFD_FLAG_SEND would answer in
 * the same step, while this thread and, until the ioctl(2) returns, the kernel for it still hold the file
 * (seccomp_notify_addfd() in kernel/seccomp.c). Before Linux 5.19 (no WAIT_KILLABLE_RECV) a signal that comes
 * between the two steps ends the call with EINTR, and the descriptor stays open in the program.
 */
int notify_add(int listener_fd, uint64_t id, int fd, bool cloexec);

/* Why it does no harm that the kernel acts on what is in the program's memory by then. */
enum continue_reason {
	CONTINUE_ROW,      /* the row: its verdict rests on registers (BASIS_REGS) */
	CONTINUE_BOUNDED,  /* of BASIS_NETNS, BASIS_MOUNTNS: a namespace bounds what the call can reach */
	CONTINUE_VERIFIED, /* of BASIS_EXEC: the tracer verifies the new image before it runs an instruction */
};

/*
 * The kernel performs the call: these two are the only places that say so. A call whose verdict rests on memory
 * never is continued, whoever asks: it is answered with EPERM. Returns as the others, or -EPERM then.
 */
int notify_continue(int listener_fd, uint64_t id, const struct syscall_row *row, enum continue_reason reason);
/*
 * The same for a call that is notified for its own sake: its registers match what the row says the filter may let
 * pass.
 */
int notify_pass(int listener_fd, uint64_t id, const struct syscall_row *row, const __u64 *args);

#endif
