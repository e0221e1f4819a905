/*
 * Tables self_NAME, for SELF_TERMS of syscalls.def: calls that callgate's own processes make with certain registers
 * only. Made by reading the sources, and by running all live tests under a filter that reported denied calls.
 */
#include <linux/fs.h>
#include <linux/netlink.h>
#include <linux/ptrace.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <termios.h>

#include "base/proc/pidinfo.h"
#include "base/proc/map.h"
#include "syscalls/table/terms.h"

#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS /* Linux 6.6 */
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS SECCOMP_IOW(4, __u64)
#endif
#ifndef TIOCGPTPEER
#define TIOCGPTPEER _IO('T', 0x41)
#endif

/* Allows no executable mappings; those made at the start of the process stay. */
static const struct row_term no_exec[] = {TERM_OF_ONE(NO_BIT_OF(2, PROT_EXEC)), END};

static const struct row_term ioctls[] = {
	TERM_OF_ONE(
		IS(1, FIONREAD)), /* bytes held in pipes, sockets and inotify descriptors: supervisor/limits/held.c */
	TERM_OF_ONE(IS(1, SECCOMP_IOCTL_NOTIF_RECV)),
	TERM_OF_ONE(IS(1, SECCOMP_IOCTL_NOTIF_SEND)),
	TERM_OF_ONE(IS(1, SECCOMP_IOCTL_NOTIF_ADDFD)),
	TERM_OF_ONE(IS(1, SECCOMP_IOCTL_NOTIF_ID_VALID)),
	TERM_OF_ONE(IS(1, SECCOMP_IOCTL_NOTIF_SET_FLAGS)),
	TERM_OF_ONE(IS(1, PIDFD_INFO_IOCTL)),
	TERM_OF_ONE(IS(1, PROCMAP_QUERY_IOCTL)),
	TERM_OF_ONE(IS(1, PIDNS_GET_PID_IOCTL)),
	TERM_OF_ONE(IS(1, TCGETS)),
	TERM_OF_ONE(IS(1, TCSETS)),
	TERM_OF_ONE(IS(1, TCSETSW)),
	TERM_OF_ONE(IS(1, TCSETSF)),
	TERM_OF_ONE(IS(1, TIOCGPGRP)),
	TERM_OF_ONE(IS(1, TIOCGWINSZ)),
	TERM_OF_ONE(IS(1, TIOCSWINSZ)),
	/* makes pseudoterminals for the program: view/terminals.c */
	TERM_OF_ONE(IS(1, TIOCSPTLCK)),
	TERM_OF_ONE(IS(1, TIOCGPTN)),
	TERM_OF_ONE(IS(1, TIOCGPTPEER)),
	TERM_OF_ONE(IS(1, FICLONE)), /* keeps files of a workspace as they were: syscalls/account/workspace/bases.c */
	END,
};

/*
 * Allows clone(2) for threads only, in no new namespaces. glibc uses clone(2) where clone3(2) fails with ENOSYS, as
 * under these filters.
 */
static const struct row_term threads[] = {
	TERM_OF_TWO(HAS(0, CLONE_THREAD | CLONE_VM | CLONE_SIGHAND),
	     NO_BIT_OF(0, CLONE_UNTRACED | CLONE_PTRACE | CLONE_NEWNS | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET |
			  CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP)),
	END,
};

/* PTRACE_* requests that supervisor/trace/ makes on target threads. */
#define REQUEST_IS(request) TERM_OF_ONE(COMPARE_WHOLE_REGISTER(0, request))
static const struct row_term requests[] = {
	REQUEST_IS(PTRACE_SEIZE),
	REQUEST_IS(PTRACE_CONT),
	REQUEST_IS(PTRACE_DETACH),
	REQUEST_IS(PTRACE_INTERRUPT),
	REQUEST_IS(PTRACE_LISTEN),
	REQUEST_IS(PTRACE_GETREGSET),
	REQUEST_IS(PTRACE_SETREGSET),
	REQUEST_IS(PTRACE_GETEVENTMSG),
	REQUEST_IS(PTRACE_GETSIGMASK),
	REQUEST_IS(PTRACE_SETSIGMASK),
	REQUEST_IS(PTRACE_SINGLESTEP),
	REQUEST_IS(PTRACE_POKEDATA),
	END,
};

/* The resolver loads nsswitch.conf(5) modules: executable mappings must be of files, and not writable. */
static const struct row_term no_exec_but_files[] = {
	TERM_OF_ONE(NO_BIT_OF(2, PROT_EXEC)),
	{3, {HAS(2, PROT_EXEC), NO_BIT_OF(2, PROT_WRITE), NO_BIT_OF(3, MAP_ANONYMOUS)}},
	END};
static const struct row_term bytes_waiting[] = {TERM_OF_ONE(IS(1, FIONREAD)), END};

/* Compares the type argument of socket(2), without its flags. */
#define SOCKET_TYPE_IS(kind) {1, 0xf, (kind)}
/* Terms of socket(2): TCP and UDP sockets of IPv4 and IPv6. */
#define TERMS_OF_INET_SOCKETS                                              \
	TERM_OF_TWO(IS(0, AF_INET), SOCKET_TYPE_IS(SOCK_STREAM)),          \
		TERM_OF_TWO(IS(0, AF_INET), SOCKET_TYPE_IS(SOCK_DGRAM)),   \
		TERM_OF_TWO(IS(0, AF_INET6), SOCKET_TYPE_IS(SOCK_STREAM)), \
		TERM_OF_TWO(IS(0, AF_INET6), SOCKET_TYPE_IS(SOCK_DGRAM))
static const struct row_term inet_sockets[] = {TERMS_OF_INET_SOCKETS, END};
static const struct row_term resolver_sockets[] = {TERMS_OF_INET_SOCKETS, TERM_OF_ONE(IS(0, AF_UNIX)),
						   TERM_OF_TWO(IS(0, AF_NETLINK), IS(2, NETLINK_ROUTE)), END};

static const struct row_term own_umask[] = {TERM_OF_ONE(IS(0, CLONE_FS)), END};
static const struct row_term unix_sockets[] = {TERM_OF_ONE(IS(0, AF_UNIX)), END};
static const struct row_term supervisor_sockets[] = {TERMS_OF_INET_SOCKETS, TERM_OF_ONE(IS(0, AF_UNIX)), END};

/* callgate's own processes with a seccomp filter, but for resolvers */
#define SELF_ROLES_BUT_RESOLVER (SELF_KEEPER | SELF_SUPERVISOR | SELF_CUSTODIAN | SELF_EGRESS)

const struct self_terms self_mmap[] = {
	{SELF_ROLES_BUT_RESOLVER, no_exec}, {SELF_RESOLVER, no_exec_but_files}, {0, NULL}};
const struct self_terms self_mprotect[] = {{SELF_ROLES_BUT_RESOLVER | SELF_RESOLVER, no_exec}, {0, NULL}};
const struct self_terms self_clone[] = {{SELF_SUPERVISOR | SELF_RESOLVER, threads}, {0, NULL}};
const struct self_terms self_ptrace[] = {{SELF_SUPERVISOR, requests}, {0, NULL}};
const struct self_terms self_ioctl[] = {
	{SELF_KEEPER | SELF_SUPERVISOR, ioctls}, {SELF_EGRESS | SELF_RESOLVER, bytes_waiting}, {0, NULL}};
const struct self_terms self_unshare[] = {{SELF_SUPERVISOR, own_umask}, {0, NULL}};
const struct self_terms self_socketpair[] = {{SELF_SUPERVISOR, unix_sockets}, {0, NULL}};
const struct self_terms self_socket[] = {{SELF_SUPERVISOR, unix_sockets},
					 {SELF_EGRESS, inet_sockets},
					 {SELF_SUPERVISOR_WITH_NETWORK,
					  supervisor_sockets}, /* comes last, because the last entry of a role counts */
					 {SELF_RESOLVER, resolver_sockets},
					 {0, NULL}};
