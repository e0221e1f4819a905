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
/* Whether calls of this number may reach the supervisor in a run with these traits. */
bool filter_may_notify(unsigned traits, int nr);

/*
 * True when the kernel lets no signal interrupt a call whose notification was received (WAIT_KILLABLE_RECV, Linux
 * 5.19). Otherwise a call that was performed may return EINTR, and repeating it would perform it twice.
 */
bool filter_can_wait_killable(void);

/*
 * The errno of what every run needs first, a kernel with seccomp listeners: 0, or ENOSYS or EINVAL of a kernel without
 * them (gVisor's), or EPERM and the like of a seccomp filter that is on this process already.
 */
int filter_find_listener_errno(void);

/* True when a seccomp filter is on this process already: a container's, or, later, the process's own. */
bool filter_is_on_this_process(void);

/*
 * True when a seccomp filter that is on this process already kills processes for calls that it does not list, as that
 * of a systemd service with SystemCallFilter= and without SystemCallErrorNumber=. A child tries it with a call that no
 * kernel has, so SIGCHLD must not be ignored. Such a process cannot find out what its kernel has, and would be killed
 * at some time in a run.
 */
bool filter_outer_kills_unlisted_calls(void);

/*
 * Installs the filter on the calling thread with NEW_LISTENER and, if supported, WAIT_KILLABLE_RECV. no_new_privs must
 * be set. Async-signal-safe. Returns the listener or -errno; -EBUSY: the thread already has a filter with a listener.
 */
int filter_install(const struct sock_fprog *program);

#endif
