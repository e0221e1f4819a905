/*
 * With which registers callgate's own processes make calls that are not theirs whatever the registers: self_NAME, for
 * SELF_TERMS of syscalls.def. Roles and registers were found by reading, and by running the whole live suite under a
 * filter that reported what was missing.
 */
#include <linux/fs.h>
#include <linux/netlink.h>
#include <linux/ptrace.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <termios.h>

#include "base/pidinfo.h"
#include "base/procmap.h"
#include "syscalls/table/terms.h"

#include "base/banned.h"

#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS /* Linux 6.6 */
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS SECCOMP_IOW(4, __u64)
#endif
#ifndef TIOCGPTPEER
#define TIOCGPTPEER _IO('T', 0x41)
#endif

/* Code comes from the files that were mapped at the start, and from nowhere else. */
static const struct row_term no_exec[] = {ONE(NONE(2, PROT_EXEC)), END};

/*
 * The calls on the listener first, since each notification makes them; of new processes; what isatty(3) and --tty ask.
 */
static const struct row_term ioctls[] = {
	ONE(IS(1, FIONREAD)), /* what is in pipes, sockets and inotify descriptors: supervisor/limits/held.c */
	ONE(IS(1, SECCOMP_IOCTL_NOTIF_RECV)), ONE(IS(1, SECCOMP_IOCTL_NOTIF_SEND)),
	ONE(IS(1, SECCOMP_IOCTL_NOTIF_ADDFD)), ONE(IS(1, SECCOMP_IOCTL_NOTIF_ID_VALID)),
	ONE(IS(1, SECCOMP_IOCTL_NOTIF_SET_FLAGS)), ONE(IS(1, PIDFD_INFO_CALL)), ONE(IS(1, PROCMAP_QUERY_CALL)),
	ONE(IS(1, PIDNS_NUMBER_CALL)),
	ONE(IS(1, TCGETS)), ONE(IS(1, TCSETS)), ONE(IS(1, TCSETSW)),
	ONE(IS(1, TCSETSF)), ONE(IS(1, TIOCGPGRP)), ONE(IS(1, TIOCGWINSZ)), ONE(IS(1, TIOCSWINSZ)), END,
};

/* Threads, not processes, and in no namespace of their own. glibc falls back to it when clone3 is ENOSYS. */
static const struct row_term threads[] = {
	BOTH(HAS(0, CLONE_THREAD | CLONE_VM | CLONE_SIGHAND),
	     NONE(0, CLONE_UNTRACED | CLONE_PTRACE | CLONE_NEWNS | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET |
			  CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP)),
	END,
};

/* What trace.h does to processes of the run. */
#define REQUEST(request) ONE(WHOLE(0, request))
static const struct row_term requests[] = {
	REQUEST(PTRACE_SEIZE),
	REQUEST(PTRACE_CONT),
	REQUEST(PTRACE_DETACH),
	REQUEST(PTRACE_INTERRUPT),
	REQUEST(PTRACE_LISTEN),
	REQUEST(PTRACE_GETREGSET),
	REQUEST(PTRACE_SETREGSET),
	REQUEST(PTRACE_GETEVENTMSG),
	REQUEST(PTRACE_GETSIGMASK),
	REQUEST(PTRACE_SETSIGMASK),
	REQUEST(PTRACE_SINGLESTEP),
	REQUEST(PTRACE_POKEDATA),
	END,
};

/* The resolver loads modules of nsswitch.conf(5): code from files, which are never writable at the same time. */
static const struct row_term no_exec_but_files[] = {
	ONE(NONE(2, PROT_EXEC)), {3, {HAS(2, PROT_EXEC), NONE(2, PROT_WRITE), NONE(3, MAP_ANONYMOUS)}}, END};
static const struct row_term bytes_waiting[] = {ONE(IS(1, FIONREAD)), END};

/* By family, kind without its flags, protocol. */
#define KIND(kind) {1, 0xf, (kind)}
#define INET_SOCKETS                                                                                \
	BOTH(IS(0, AF_INET), KIND(SOCK_STREAM)), BOTH(IS(0, AF_INET), KIND(SOCK_DGRAM)),            \
		BOTH(IS(0, AF_INET6), KIND(SOCK_STREAM)), BOTH(IS(0, AF_INET6), KIND(SOCK_DGRAM))
static const struct row_term inet_sockets[] = {INET_SOCKETS, END};
static const struct row_term resolver_sockets[] = {INET_SOCKETS, ONE(IS(0, AF_UNIX)),
						   BOTH(IS(0, AF_NETLINK), IS(2, NETLINK_ROUTE)), END};

static const struct row_term own_umask[] = {ONE(IS(0, CLONE_FS)), END};
static const struct row_term unix_sockets[] = {ONE(IS(0, AF_UNIX)), END};

/* ---- by row and role ---- */

#define EVERYONE (SELF_KEEPER | SELF_SUPERVISOR | SELF_CUSTODIAN | SELF_EGRESS)

const struct self_terms self_mmap[] = {{EVERYONE, no_exec}, {SELF_RESOLVER, no_exec_but_files}, {0, NULL}};
const struct self_terms self_mprotect[] = {{EVERYONE | SELF_RESOLVER, no_exec}, {0, NULL}};
const struct self_terms self_clone[] = {{SELF_SUPERVISOR | SELF_RESOLVER, threads}, {0, NULL}};
const struct self_terms self_ptrace[] = {{SELF_SUPERVISOR, requests}, {0, NULL}};
const struct self_terms self_ioctl[] = {
	{SELF_KEEPER | SELF_SUPERVISOR, ioctls}, {SELF_EGRESS | SELF_RESOLVER, bytes_waiting}, {0, NULL}};
const struct self_terms self_unshare[] = {{SELF_SUPERVISOR, own_umask}, {0, NULL}};
const struct self_terms self_socketpair[] = {{SELF_SUPERVISOR, unix_sockets}, {0, NULL}};
const struct self_terms self_socket[] = {{SELF_SUPERVISOR, unix_sockets},
					 {SELF_EGRESS | SELF_NETWORK, inet_sockets},
					 {SELF_RESOLVER, resolver_sockets},
					 {0, NULL}};
