/* The seccomp filter of the program, made from the syscall table: allows what rows make native, notifies all else. */
#ifndef CALLGATE_CONFINE_FILTER_H
#define CALLGATE_CONFINE_FILTER_H

#include <linux/filter.h>
#include <stdbool.h>
#include <stdint.h>

#include "syscalls/table/table.h"

/* True in a test build (--enable-open-filter), whose filter allows every call. Messages must tell the user so. */
bool filter_allows_all_calls(void);

/* Builds the filter for a run with these traits (enum run_trait). 0 with ret_program->filter owned, or -errno. */
int filter_build_program(unsigned traits, struct sock_fprog *ret_program);

/* True when the filter notifies a call of this architecture. filter_may_notify: with some arguments at least. */
bool filter_notifies_call(unsigned traits, int nr, const uint64_t arg[6]);
bool filter_may_notify(unsigned traits, int nr);

/*
 * True when the kernel lets no signal interrupt a call whose notification was received (WAIT_KILLABLE_RECV, Linux
 * 5.19). Otherwise a call that was performed may return EINTR, and repeating it would perform it twice.
 */
bool filter_can_wait_killable(void);

/*
 * Installs the filter on the calling thread with NEW_LISTENER and, if supported, WAIT_KILLABLE_RECV. no_new_privs must
 * be set. Async-signal-safe. Returns the listener or -errno; -EBUSY: the thread already has a filter with a listener.
 */
int filter_install(const struct sock_fprog *program);

#endif
