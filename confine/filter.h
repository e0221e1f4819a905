/* The seccomp filter, made from the syscall table: allow what the rows allow natively, notify everything else. */
#ifndef CALLGATE_CONFINE_FILTER_H
#define CALLGATE_CONFINE_FILTER_H

#include <linux/filter.h>
#include <stdbool.h>
#include <stdint.h>

/* What differs from run to run. Zero: the strictest. */
struct filter_options {
	bool private_ipc;  /* an ipc namespace of its own, whose memory is bounded: SysV IPC and POSIX queues are native */
	bool fstat;        /* newfstatat and statx of what is to be a descriptor are native: see view_is_kernels */
	bool own_terminal; /* --tty: the modes, the size and the foreground group of the run's own terminal may be set */
	bool judge_forks;  /* nothing else bounds the number of processes: clone, fork and vfork are notified */
	bool judge_memory; /* nothing else bounds memory: what gets some that no process shows is notified (memfds.h) */
	bool inet;         /* the policy has a network: TCP sockets may be made */
	bool inet_udp;     /* UDP sockets likewise, in a network namespace of the run's own: see inet-socket.c */
	bool judge_messages; /* sendmsg and sendmmsg, in which an address may be, are notified: always, but see descriptor.h */
	bool judge_listeners; /* without a network namespace of its own: shutdown and some options are notified */
	bool hand_off;     /* masks of CPUs may be ours for a moment: calls that show or set one are notified (handoff.h) */
	bool restart;      /* rt_sigreturn is notified: calls that a signal interrupted are run again (interrupted.h) */
	bool judge_disk;   /* what is added to the disk is counted: fallocate is notified */
};

/*
 * True in a build for testing the second lock (configure --enable-open-filter): filter_build lets every call through
 * unjudged. Whoever reports to the user says so.
 */
bool filter_is_open(void);

/* Builds the program (BPF). 0 with prog->filter owned by the caller (free), or -errno. */
int filter_build(const struct filter_options *options, struct sock_fprog *ret_program);

/* True when the program notifies a call of our architecture with these registers; when it does so with any at all. */
bool filter_notifies(const struct filter_options *options, int nr, const uint64_t arg[6]);
bool filter_may_notify(const struct filter_options *options, int nr);

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
