/*
 * Responds to notifications; no other file does (tests/layering.sh). A response carries a value or an errno, perhaps
 * after a descriptor was added to the target process, or continues the call: the kernel performs it.
 * seccomp_unotify(2).
 *
 * Called in the supervisor thread (dispatch and outcome, trace/, gateway/) and by the worker threads of blocking.c. The
 * functions hold no state. Callers may ignore their failures, which mean that the target thread is dead or that its
 * call has ended.
 */
#ifndef CALLGATE_SUPERVISOR_ANSWER_H
#define CALLGATE_SUPERVISOR_ANSWER_H

#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdint.h>

#include "syscalls/call/call.h"

/* ERESTARTSYS of linux/errno.h: EINTR for the program, or the kernel restarts the call if SA_RESTART is set. */
#define ANSWER_ERESTARTSYS (-512)

/*
 * ---- functions that respond at once. The caller ends the record of the call. They return 0, or the new descriptor, or
 * -ENOENT: the call has ended already ----
 */

int answer_with_value(int listener_fd, uint64_t id, int64_t value);
int answer_with_error(int listener_fd, uint64_t id, int error); /* error is -errno */
/*
 * Adds a descriptor of fd's file description to the target process, and closes fd. Does not respond. Returns the new
 * descriptor, or -errno: -EMFILE if the target's table is full, -EINTR if the call has ended already.
 *
 * Adding and responding are separate steps, so that the target's descriptor is the only one when its call returns: its
 * close(2) then releases locks, ends a FIFO and is seen by inotify at once. With SECCOMP_ADDFD_FLAG_SEND the supervisor
 * would still hold the file at that moment (seccomp_notify_addfd() in kernel/seccomp.c). Before Linux 5.19 (no
 * WAIT_KILLABLE_RECV) a signal between the steps ends the call with EINTR, and the descriptor stays open.
 */
int answer_add_descriptor(int listener_fd, uint64_t id, int fd, bool cloexec);

/* 0, or -errno where the listener adds no descriptors (before Linux 5.9): then no program could open a file. */
int answer_check_descriptors_can_be_added(int listener_fd);

/* Why a continue is safe although the program may have changed its memory since the verdict (TOCTOU). */
enum continue_reason {
	CONTINUE_REGISTERS_JUDGED,      /* BASIS_REGS: the verdict rests on registers alone */
	CONTINUE_NAMESPACE_BOUNDED,  /* BASIS_NETNS, BASIS_MOUNTNS: a namespace bounds what the call can reach */
	CONTINUE_EXEC_VERIFIED, /* BASIS_EXEC: the tracer verifies the new image before its first instruction */
};

/*
 * Continues the call. No code but this function and answer_continue_after_hook() does. If the row's basis does not
 * permit the reason, or is BASIS_MEMORY, the call gets EPERM instead, and -EPERM is returned.
 */
int answer_continue(int listener_fd, uint64_t id, const struct syscall_row *row, enum continue_reason reason);
/*
 * Continues a call that was notified for a hook only (enum row_hook): its registers must match the row's terms
 * (allowed_if, more_terms).
 */
int answer_continue_after_hook(int listener_fd, const struct seccomp_notif *notification,
			       const struct syscall_row *row);

/* ---- functions that respond later, and end the record ---- */

/* What is needed to respond later, and to end the call's record. */
struct delayed_response {
	struct sandbox *sandbox; /* borrowed */
	uint64_t id;             /* the notification's id */
	uint64_t start_ns;       /* when the notification was received */
	struct audit_outcome_location outcome_location; /* where the log has the call's record */
};

/* Keeps what a later response to the call needs. The call must be recorded already. */
struct delayed_response answer_make_for_later_response(const struct call *call);
/* False: the target thread is dead, or a signal has ended its call. */
bool answer_thread_still_waits(const struct delayed_response *answer);
/*
 * Responds with a value, -errno or ANSWER_ERESTARTSYS (recorded as EINTR) and ends the record. Call it once. Returns
 * the clock as it was read before the response: after the response the target thread may run on this CPU at once.
 */
uint64_t answer_send_and_end_record(const struct delayed_response *answer, int64_t result);

#endif
