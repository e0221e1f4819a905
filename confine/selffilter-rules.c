/*
 * The calls of keeper, supervisor, custodian, egress and resolver after their set-up, by what they are for. Found by
 * reading and by running the whole live suite under a filter that reported what was missing.
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
#include "confine/selffilter.h"
#include "syscalls/table/numbers.h"
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

/* The calls on the listener first, since each notification makes them; of new processes; what isatty(3) and --tty ask. */
static const struct row_term ioctls[] = {
	ONE(IS(1, FIONREAD)), /* what is in pipes, sockets and inotify descriptors: held-buffers.c */
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
	REQUEST(PTRACE_SEIZE), REQUEST(PTRACE_CONT), REQUEST(PTRACE_DETACH), REQUEST(PTRACE_INTERRUPT), REQUEST(PTRACE_LISTEN),
	REQUEST(PTRACE_GETREGSET), REQUEST(PTRACE_SETREGSET), REQUEST(PTRACE_GETEVENTMSG), REQUEST(PTRACE_GETSIGMASK),
	REQUEST(PTRACE_SETSIGMASK), REQUEST(PTRACE_SINGLESTEP), REQUEST(PTRACE_POKEDATA), END,
};

/* The resolver loads modules of nsswitch.conf(5): code from files, which are never writable at the same time. */
static const struct row_term no_exec_but_files[] = {ONE(NONE(2, PROT_EXEC)),
						    {3, {HAS(2, PROT_EXEC), NONE(2, PROT_WRITE), NONE(3, MAP_ANONYMOUS)}}, END};
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

/* clang-format off */
#define K SELF_KEEPER
#define S SELF_SUPERVISOR
#define C SELF_CUSTODIAN
#define E SELF_EGRESS
#define R SELF_RESOLVER
#define N SELF_NETWORK

#define RULE(name_, roles_, terms_) {.nr = __SNR_##name_, .name = #name_, .roles = (roles_), .terms = (terms_)},
#define ANY(name, roles) RULE(name, roles, NULL)
#define NEVER(name) RULE(name, SELF_NEVER, NULL)

static const struct self_rule rules[] = {
	/* memory, threads, ending */
	ANY(brk, K | S | C | E | R) RULE(mmap, K | S | C | E, no_exec) RULE(mmap, R, no_exec_but_files)
	RULE(mprotect, K | S | C | E | R, no_exec) ANY(munmap, K | S | C | E | R)
	ANY(mremap, K | S | C | E | R) ANY(madvise, K | S | C | E | R) RULE(clone, S | R, threads) ANY(futex, K | S | C | E | R) ANY(rseq, S | R)
	ANY(set_robust_list, S | R) ANY(sched_yield, S | R) ANY(sched_getaffinity, K | S | R) ANY(exit, S | R) ANY(exit_group, K | S | C | E | R)
	ANY(restart_syscall, K | S | C | E | R)

	/* who and when */
	ANY(getpid, K | S | C | E | R) ANY(gettid, K | S | C | E | R) ANY(getppid, K | S) ANY(getuid, K | S | E | R) ANY(geteuid, K | S | C | E | R)
	ANY(getgid, K | S | E | R) ANY(getegid, K | S | E | R) ANY(getresuid, K | S) ANY(getresgid, K | S)
	ANY(getgroups, K | S) ANY(getpgrp, K | S) ANY(getpgid, K | S) ANY(getsid, K | S)
	ANY(clock_gettime, K | S | C | E | R) ANY(clock_nanosleep, K | S | R) ANY(gettimeofday, K | S | C | E | R) ANY(time, K | S | E | R)
	ANY(getrandom, K | S | E | R) ANY(sysinfo, K | S | E | R) ANY(uname, K | S | E | R) ANY(getrusage, K | S | R) ANY(prlimit64, K | S | R)
	ANY(getrlimit, K | S)

	/* signals and processes of the run */
	ANY(rt_sigaction, K | S | C | E | R) ANY(rt_sigprocmask, K | S | C | E | R) ANY(rt_sigreturn, K | S | C | E | R) ANY(signalfd4, S)
	ANY(wait4, K | S) ANY(waitid, K | S) ANY(kill, K | S) ANY(tgkill, K | S | C) ANY(pidfd_open, K | S)
	ANY(pidfd_send_signal, K | S) ANY(rt_sigqueueinfo, S) ANY(rt_tgsigqueueinfo, S)
	RULE(ptrace, S, requests) ANY(process_vm_readv, S) ANY(process_vm_writev, S) ANY(pidfd_getfd, S)
	ANY(sched_setaffinity, S)

	/* descriptors */
	ANY(read, K | S | C | E | R) ANY(write, K | S | C | E | R) ANY(writev, K | S | C | E | R) ANY(pread64, K | S | C | R) ANY(preadv2, S) ANY(pwrite64, K | S | C)
	ANY(close, K | S | C | E | R) ANY(close_range, S) ANY(lseek, K | S | C | R) ANY(fcntl, K | S | C | E | R) ANY(dup, K | S) ANY(dup2, K | S) ANY(dup3, K | S)
	ANY(poll, K | S | E | R) ANY(ppoll, K | S | E | R) ANY(epoll_create1, S | E | R) ANY(epoll_ctl, S | E | R) ANY(epoll_wait, S | E | R) ANY(epoll_pwait, S | E | R)
	ANY(copy_file_range, K | S | C) ANY(ftruncate, K | S | C) ANY(fallocate, K | S) ANY(flock, K | S)
	ANY(memfd_create, S) ANY(pipe2, S | E | R) RULE(ioctl, K | S, ioctls) RULE(ioctl, E | R, bytes_waiting)

	/* files: the supervisor performs, the keeper cleans up, the custodian stores */
	ANY(openat, K | S | C | R) ANY(openat2, K | S | C) ANY(fstat, K | S | C | R) ANY(newfstatat, K | S | C | R) ANY(statx, K | S | R)
	ANY(stat, K | S | R) ANY(lstat, K | S | R) ANY(getdents64, K | S) ANY(readlink, K | S | R) ANY(readlinkat, K | S | R)
	ANY(getcwd, K | S | R) ANY(access, K | S | R) ANY(faccessat, K | S | R) ANY(faccessat2, K | S | R)
	ANY(mkdir, K | S) ANY(mkdirat, K | S | C) ANY(rmdir, K | S) ANY(unlink, K | S) ANY(unlinkat, K | S | C)
	ANY(rename, K | S) ANY(renameat, K | S | C) ANY(renameat2, K | S) ANY(fchmod, K | S | C) ANY(chmod, K | S)
	ANY(fchmodat, K | S) ANY(fchmodat2, S) ANY(utimensat, K | S | C) ANY(statfs, S) ANY(fstatfs, K | S)
	ANY(truncate, S) ANY(link, S) ANY(linkat, K | S | C) ANY(symlink, S) ANY(symlinkat, S) ANY(mknod, S) ANY(mknodat, S)
	ANY(fchown, S) ANY(fchownat, S) ANY(chdir, S) ANY(fchdir, S) ANY(umask, S) RULE(unshare, S, own_umask)
	ANY(setxattr, S) ANY(lsetxattr, S) ANY(fsetxattr, S) ANY(getxattr, S) ANY(lgetxattr, S) ANY(fgetxattr, S)
	ANY(listxattr, S) ANY(llistxattr, S) ANY(flistxattr, K | S) ANY(removexattr, S) ANY(lremovexattr, S)
	ANY(fremovexattr, S) ANY(file_getattr, S) ANY(file_setattr, S) ANY(inotify_add_watch, S) ANY(kcmp, S) ANY(name_to_handle_at, S)
	ANY(mq_open, S) ANY(mq_unlink, S)

	/* unix sockets by path; the errand's carrier; the custodian's line */
	RULE(socket, S, unix_sockets) RULE(socketpair, S, unix_sockets) ANY(bind, S | E | R) ANY(connect, S | E | R) ANY(listen, S)
	ANY(getsockname, S | E | R) ANY(getpeername, S | E | R) ANY(getsockopt, S | E | R) ANY(sendmsg, K | S | E | R) ANY(recvmsg, S | C | E | R)
	ANY(sendto, C | E | R | N) ANY(recvfrom, K | E | R | N)

	/* internet sockets */
	RULE(socket, E | N, inet_sockets) RULE(socket, R, resolver_sockets)
	ANY(setsockopt, N | E | R) ANY(shutdown, N | E | R) ANY(accept4, E) ANY(accept, E)
	ANY(readv, E | R) ANY(sendmmsg, N | E | R) ANY(recvmmsg, E | R) ANY(epoll_pwait2, E | R) ANY(eventfd2, E | R)
	ANY(timerfd_create, E | R) ANY(timerfd_settime, S | E | R) ANY(splice, E)

	/* nobody's */
	NEVER(execve) NEVER(execveat) NEVER(fork) NEVER(vfork) NEVER(mount) NEVER(umount2) NEVER(pivot_root) NEVER(chroot)
	NEVER(open_tree) NEVER(open_tree_attr) NEVER(move_mount) NEVER(fsopen) NEVER(fsconfig) NEVER(fsmount) NEVER(fspick)
	NEVER(mount_setattr) NEVER(setns) NEVER(open_by_handle_at) NEVER(bpf) NEVER(perf_event_open) NEVER(userfaultfd)
	NEVER(io_uring_setup) NEVER(io_uring_enter) NEVER(io_uring_register) NEVER(io_setup) NEVER(io_submit)
	NEVER(keyctl) NEVER(add_key) NEVER(request_key) NEVER(init_module) NEVER(finit_module) NEVER(delete_module)
	NEVER(kexec_load) NEVER(kexec_file_load) NEVER(reboot) NEVER(swapon) NEVER(swapoff) NEVER(iopl) NEVER(ioperm)
	NEVER(modify_ldt) NEVER(quotactl) NEVER(quotactl_fd) NEVER(acct) NEVER(settimeofday) NEVER(clock_settime)
	NEVER(clock_adjtime) NEVER(adjtimex) NEVER(sethostname) NEVER(setdomainname) NEVER(fanotify_init) NEVER(memfd_secret)
	NEVER(personality) NEVER(process_madvise)
};
/* clang-format on */

const struct self_rule *selffilter_rules(size_t *ret_count)
{
	*ret_count = sizeof(rules) / sizeof(rules[0]);
	return rules;
}
