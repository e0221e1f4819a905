/*
 * The calls of keeper, supervisor and custodian after their set-up, by what they are for. Found by reading and by
 * running the whole live suite under a filter that reported what was missing.
 */
#include <linux/fs.h>
#include <linux/ptrace.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <termios.h>

#include "supervisor/selffilter.h"
#include "syscalls/numbers.h"

#include "base/banned.h"

#define LOW 0xffffffffULL
#define IS(n, v) {(n), LOW, (uint32_t)(v)}
#define WHOLE(n, v) {(n), UINT64_MAX, (uint64_t)(v)}
#define NONE(n, bits) {(n), (uint32_t)(bits), 0}
#define HAS(n, bits) {(n), (uint32_t)(bits), (uint32_t)(bits)}
#define ONE(a) {1, {a}}
#define BOTH(a, b) {2, {a, b}}
#define END {0, {{0, 0, 0}}}

#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS /* Linux 6.6 */
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS SECCOMP_IOW(4, __u64)
#endif
#ifndef TIOCGPTPEER
#define TIOCGPTPEER _IO('T', 0x41)
#endif

/* Code comes from the files that were mapped at the start, and from nowhere else. */
static const struct row_term no_exec[] = {ONE(NONE(2, PROT_EXEC)), END};

/* The calls on the listener first, since each notification makes them; then what isatty(3) and --tty ask. */
static const struct row_term ioctls[] = {
	ONE(IS(1, SECCOMP_IOCTL_NOTIF_RECV)), ONE(IS(1, SECCOMP_IOCTL_NOTIF_SEND)),
	ONE(IS(1, SECCOMP_IOCTL_NOTIF_ADDFD)), ONE(IS(1, SECCOMP_IOCTL_NOTIF_ID_VALID)),
	ONE(IS(1, SECCOMP_IOCTL_NOTIF_SET_FLAGS)), ONE(IS(1, TCGETS)), ONE(IS(1, TCSETS)), ONE(IS(1, TCSETSW)),
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

static const struct row_term own_umask[] = {ONE(IS(0, CLONE_FS)), END};
static const struct row_term unix_sockets[] = {ONE(IS(0, AF_UNIX)), END};

/* clang-format off */
#define K SELF_KEEPER
#define S SELF_SUPERVISOR
#define C SELF_CUSTODIAN

#define RULE(name_, roles_, terms_) {.nr = __SNR_##name_, .name = #name_, .roles = (roles_), .terms = (terms_)},
#define ANY(name, roles) RULE(name, roles, NULL)
#define NEVER(name) RULE(name, SELF_NEVER, NULL)

static const struct self_rule rules[] = {
	/* memory, threads, ending */
	ANY(brk, K | S | C) RULE(mmap, K | S | C, no_exec) RULE(mprotect, K | S | C, no_exec) ANY(munmap, K | S | C)
	ANY(mremap, K | S | C) ANY(madvise, K | S | C) RULE(clone, S, threads) ANY(futex, K | S | C) ANY(rseq, S)
	ANY(set_robust_list, S) ANY(sched_yield, S) ANY(sched_getaffinity, K | S) ANY(exit, S) ANY(exit_group, K | S | C)
	ANY(restart_syscall, K | S | C)

	/* who and when */
	ANY(getpid, K | S | C) ANY(gettid, K | S | C) ANY(getppid, K | S) ANY(getuid, K | S) ANY(geteuid, K | S | C)
	ANY(getgid, K | S) ANY(getegid, K | S) ANY(getresuid, K | S) ANY(getresgid, K | S)
	ANY(getgroups, K | S) ANY(getpgrp, K | S) ANY(getpgid, K | S) ANY(getsid, K | S)
	ANY(clock_gettime, K | S | C) ANY(clock_nanosleep, K | S) ANY(gettimeofday, K | S | C) ANY(time, K | S)
	ANY(getrandom, K | S) ANY(sysinfo, K | S) ANY(uname, K | S) ANY(getrusage, K | S) ANY(prlimit64, K | S)
	ANY(getrlimit, K | S)

	/* signals and processes of the run */
	ANY(rt_sigaction, K | S | C) ANY(rt_sigprocmask, K | S | C) ANY(rt_sigreturn, K | S | C) ANY(signalfd4, S)
	ANY(wait4, K | S) ANY(waitid, K | S) ANY(kill, K | S) ANY(tgkill, K | S | C) ANY(pidfd_open, K | S)
	ANY(pidfd_send_signal, K | S) ANY(rt_sigqueueinfo, S) ANY(rt_tgsigqueueinfo, S)
	RULE(ptrace, S, requests) ANY(process_vm_readv, S) ANY(process_vm_writev, S) ANY(pidfd_getfd, S)
	ANY(sched_setaffinity, S)

	/* descriptors */
	ANY(read, K | S | C) ANY(write, K | S | C) ANY(writev, K | S | C) ANY(pread64, K | S | C) ANY(pwrite64, K | S | C)
	ANY(close, K | S | C) ANY(lseek, K | S | C) ANY(fcntl, K | S | C) ANY(dup, K | S) ANY(dup2, K | S) ANY(dup3, K | S)
	ANY(poll, K | S) ANY(ppoll, K | S) ANY(epoll_create1, S) ANY(epoll_ctl, S) ANY(epoll_wait, S) ANY(epoll_pwait, S)
	ANY(copy_file_range, K | S | C) ANY(ftruncate, K | S | C) ANY(fallocate, K | S) ANY(flock, K | S)
	ANY(memfd_create, S) ANY(pipe2, S) RULE(ioctl, K | S, ioctls)

	/* files: the supervisor performs, the keeper cleans up, the custodian stores */
	ANY(openat, K | S | C) ANY(openat2, K | S | C) ANY(fstat, K | S | C) ANY(newfstatat, K | S | C) ANY(statx, K | S)
	ANY(stat, K | S) ANY(lstat, K | S) ANY(getdents64, K | S) ANY(readlink, K | S) ANY(readlinkat, K | S)
	ANY(getcwd, K | S) ANY(access, K | S) ANY(faccessat, K | S) ANY(faccessat2, K | S)
	ANY(mkdir, K | S) ANY(mkdirat, K | S | C) ANY(rmdir, K | S) ANY(unlink, K | S) ANY(unlinkat, K | S | C)
	ANY(rename, K | S) ANY(renameat, K | S | C) ANY(renameat2, K | S) ANY(fchmod, K | S | C) ANY(chmod, K | S)
	ANY(fchmodat, K | S) ANY(fchmodat2, S) ANY(utimensat, K | S | C) ANY(statfs, S) ANY(fstatfs, K | S)
	ANY(truncate, S) ANY(link, S) ANY(linkat, K | S | C) ANY(symlink, S) ANY(symlinkat, S) ANY(mknod, S) ANY(mknodat, S)
	ANY(fchown, S) ANY(fchownat, S) ANY(chdir, S) ANY(fchdir, S) ANY(umask, S) RULE(unshare, S, own_umask)
	ANY(setxattr, S) ANY(lsetxattr, S) ANY(fsetxattr, S) ANY(getxattr, S) ANY(lgetxattr, S) ANY(fgetxattr, S)
	ANY(listxattr, S) ANY(llistxattr, S) ANY(flistxattr, S) ANY(removexattr, S) ANY(lremovexattr, S)
	ANY(fremovexattr, S) ANY(file_getattr, S) ANY(file_setattr, S) ANY(inotify_add_watch, S) ANY(name_to_handle_at, S)
	ANY(mq_open, S) ANY(mq_unlink, S)

	/* unix sockets by path; the errand's carrier; the custodian's line */
	RULE(socket, S, unix_sockets) RULE(socketpair, S, unix_sockets) ANY(bind, S) ANY(connect, S) ANY(listen, S)
	ANY(getsockname, S) ANY(getpeername, S) ANY(getsockopt, S) ANY(sendmsg, K | S) ANY(recvmsg, S | C)
	ANY(sendto, C) ANY(recvfrom, K)

	/* nobody's */
	NEVER(execve) NEVER(execveat) NEVER(fork) NEVER(vfork) NEVER(mount) NEVER(umount2) NEVER(pivot_root) NEVER(chroot)
	NEVER(open_tree) NEVER(open_tree_attr) NEVER(move_mount) NEVER(fsopen) NEVER(fsconfig) NEVER(fsmount) NEVER(fspick)
	NEVER(mount_setattr) NEVER(setns) NEVER(open_by_handle_at) NEVER(bpf) NEVER(perf_event_open) NEVER(userfaultfd)
	NEVER(io_uring_setup) NEVER(io_uring_enter) NEVER(io_uring_register) NEVER(io_setup) NEVER(io_submit)
	NEVER(keyctl) NEVER(add_key) NEVER(request_key) NEVER(init_module) NEVER(finit_module) NEVER(delete_module)
	NEVER(kexec_load) NEVER(kexec_file_load) NEVER(reboot) NEVER(swapon) NEVER(swapoff) NEVER(iopl) NEVER(ioperm)
	NEVER(modify_ldt) NEVER(quotactl) NEVER(quotactl_fd) NEVER(acct) NEVER(settimeofday) NEVER(clock_settime)
	NEVER(clock_adjtime) NEVER(adjtimex) NEVER(sethostname) NEVER(setdomainname) NEVER(fanotify_init) NEVER(memfd_secret)
	NEVER(personality) NEVER(kcmp) NEVER(process_madvise)
};
/* clang-format on */

const struct self_rule *selffilter_rules(size_t *ret_count)
{
	*ret_count = sizeof(rules) / sizeof(rules[0]);
	return rules;
}
