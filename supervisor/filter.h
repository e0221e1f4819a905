/* The seccomp filter, made from the syscall table: allow what the rows allow natively, notify everything else. */
#ifndef CALLGATE_SUPERVISOR_FILTER_H
#define CALLGATE_SUPERVISOR_FILTER_H

#include <linux/filter.h>

/* Builds the program (BPF). 0 with prog->filter owned by the caller (free), or -errno. */
int filter_build(struct sock_fprog *ret_program);

/*
 * Installs it on the calling thread with NEW_LISTENER and, where the kernel knows it, WAIT_KILLABLE_RECV. no_new_privs
 * must be set. Async-signal-safe. Returns the listener descriptor or -errno; -EBUSY: a listener is there already.
 */
int filter_install(const struct sock_fprog *program);

#endif
