/* The seccomp filter, made from the syscall table: allow what the rows allow natively, notify everything else. */
#ifndef CALLGATE_SUPERVISOR_FILTER_H
#define CALLGATE_SUPERVISOR_FILTER_H

#include <linux/filter.h>
#include <stdbool.h>

/* What differs from run to run. Zero: the strictest. */
struct filter_options {
	bool private_ipc;  /* an ipc namespace of its own, whose memory is bounded: SysV IPC and POSIX queues are native */
	bool fstat;        /* newfstatat and statx of what is to be a descriptor are native: see view_is_kernels */
	bool own_terminal; /* --tty: the modes, the size and the foreground group of the run's own terminal may be set */
	bool judge_forks;  /* nothing else bounds the number of processes: clone, fork and vfork are notified */
	bool judge_memfds; /* nothing else bounds memory: memfd_create is notified */
	bool inet;         /* the policy has a network: TCP sockets may be made */
	bool inet_udp;     /* UDP sockets likewise */
	bool judge_messages; /* sendmsg and sendmmsg, in which an address may be, are notified: always, but see descriptor.h */
	bool judge_listeners; /* without a network namespace of its own shutdown is notified */
	bool hand_off;     /* masks of CPUs may be ours for a moment: calls that show or set one are notified (handoff.h) */
	bool judge_disk;   /* what is added to the disk is counted: fallocate and landlock_add_rule are notified */
};

/*
 * True in a build for testing the second lock (configure --enable-open-filter): filter_build lets every call through
 * unjudged. Whoever reports to the user says so.
 */
bool filter_is_open(void);

/* Builds the program (BPF). 0 with prog->filter owned by the caller (free), or -errno. */
int filter_build(const struct filter_options *options, struct sock_fprog *ret_program);

/*
 * Installs it on the calling thread with NEW_LISTENER and, where the kernel knows it, WAIT_KILLABLE_RECV. no_new_privs
 * must be set. Async-signal-safe. Returns the listener descriptor or -errno; -EBUSY: a listener is there already.
 */
int filter_install(const struct sock_fprog *program);

#endif
