/* The seccomp filter, made from the syscall table: allow what the rows allow natively, notify everything else. */
#ifndef CALLGATE_CONFINE_FILTER_H
#define CALLGATE_CONFINE_FILTER_H

#include <linux/filter.h>
#include <stdbool.h>
#include <stdint.h>

#include "syscalls/table/table.h"

/*
 * True in a build for testing the second lock (configure --enable-open-filter): filter_build lets every call through
 * unjudged. Whoever reports to the user says so.
 */
bool filter_is_open(void);

/*
 * Builds the program (BPF) for a run with these traits (enum run_trait). 0 with prog->filter owned by the caller
 * (free), or -errno.
 */
int filter_build(unsigned traits, struct sock_fprog *ret_program);

/* True when the program notifies a call of our architecture with these registers; when it does so with any at all. */
bool filter_notifies(unsigned traits, int nr, const uint64_t arg[6]);
bool filter_may_notify(unsigned traits, int nr);

/*
 * True when no signal interrupts a call once it was received (WAIT_KILLABLE_RECV, Linux 5.19). Otherwise one that was
 * performed may end with EINTR, and running it again would do it twice.
 */
bool filter_can_wait(void);

/*
 * Installs it on the calling thread with NEW_LISTENER and, where the kernel knows it, WAIT_KILLABLE_RECV. no_new_privs
 * must be set. Async-signal-safe. Returns the listener descriptor or -errno; -EBUSY: a listener is there already.
 */
int filter_install(const struct sock_fprog *program);

#endif
