/*
 * cases-without [-CALL…] PROGRAM [ARG…]: runs PROGRAM under a filter that refuses some system calls, as an older kernel
 * or a container does; without -CALL only pidfd_getfd(2), as Docker's profile does. "-newuser" is any call that makes a
 * user namespace, "-newpid" one of processes.
 */
#include <errno.h>
#include <linux/close_range.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_open_tree_attr /* Linux 6.15; one number for every architecture */
#define SYS_open_tree_attr 467
#endif
#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV /* Linux 5.19 */
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif
#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS /* Linux 6.6 */
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS SECCOMP_IOW(4, __u64)
#endif

#define CODE_MAX 128u

#define EQUAL BPF_JEQ
#define ANY_BIT BPF_JSET

/* What an argument refuses. Rows of one name belong together. */
static const struct {
	const char *name;
	long nr;
	int error;
	unsigned value;         /* that an argument of the call equals, or has a bit of; 0: every call */
	unsigned char test;     /* EQUAL or ANY_BIT */
	unsigned char argument; /* its number, from 0 */
} refusals[] = {
	{"pidfd_getfd", SYS_pidfd_getfd, EPERM, 0, 0, 0},
	{"open_tree", SYS_open_tree, ENOSYS, 0, 0, 0},
	{"open_tree", SYS_open_tree_attr, ENOSYS, 0, 0, 0},
	{"mount_setattr", SYS_mount_setattr, ENOSYS, 0, 0, 0},
	{"mount_setattr", SYS_open_tree_attr, ENOSYS, 0, 0, 0},
	{"move_mount", SYS_move_mount, ENOSYS, 0, 0, 0},
	{"fsopen", SYS_fsopen, ENOSYS, 0, 0, 0},
	{"pivot_root", SYS_pivot_root, EPERM, 0, 0, 0},
	{"landlock", SYS_landlock_create_ruleset, ENOSYS, 0, 0, 0},
	{"landlock-off", SYS_landlock_create_ruleset, EOPNOTSUPP, 0, 0, 0},
	{"landlock-rule", SYS_landlock_add_rule, EINVAL, 0, 0, 0},
	{"newuser", SYS_clone, EPERM, CLONE_NEWUSER, ANY_BIT, 0},
	{"newuser", SYS_unshare, EPERM, CLONE_NEWUSER, ANY_BIT, 0},
	{"newuser", SYS_clone3, ENOSYS, 0, 0, 0}, /* its flags are in memory */
	{"newpid", SYS_clone, EINVAL, CLONE_NEWPID, ANY_BIT, 0},
	{"newpid", SYS_unshare, EINVAL, CLONE_NEWPID, ANY_BIT, 0},
	{"newpid", SYS_clone3, ENOSYS, 0, 0, 0},
	{"newnet", SYS_clone, EINVAL, CLONE_NEWNET, ANY_BIT, 0},
	{"newnet", SYS_unshare, EINVAL, CLONE_NEWNET, ANY_BIT, 0},
	{"newnet", SYS_clone3, ENOSYS, 0, 0, 0},
	{"newns", SYS_clone, EINVAL, CLONE_NEWNS, ANY_BIT, 0},
	{"newns", SYS_unshare, EINVAL, CLONE_NEWNS, ANY_BIT, 0},
	{"newns", SYS_clone3, ENOSYS, 0, 0, 0},
	{"wait-killable", SYS_seccomp, EINVAL, SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, ANY_BIT, 1},
	{"sync-wake-up", SYS_ioctl, EINVAL, SECCOMP_IOCTL_NOTIF_SET_FLAGS, EQUAL, 1},
	{"addfd", SYS_ioctl, EINVAL, SECCOMP_IOCTL_NOTIF_ADDFD, EQUAL, 1},
	{"openat2", SYS_openat2, ENOSYS, 0, 0, 0},
	{"statx", SYS_statx, ENOSYS, 0, 0, 0},
	{"close_range", SYS_close_range, ENOSYS, 0, 0, 0},
	{"close_range-unshare", SYS_close_range, EINVAL, CLOSE_RANGE_UNSHARE, ANY_BIT, 2},
};

static struct sock_filter code[CODE_MAX];
static unsigned short length;

static void emit(unsigned short op, unsigned k, unsigned char if_true, unsigned char if_false)
{
	code[length++] = (struct sock_filter)BPF_JUMP(op, k, if_true, if_false);
}

/* Refuses what an argument names. Returns the number of calls. */
static unsigned refuse(const char *name)
{
	unsigned count = 0;

	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		if (strcmp(refusals[i].name, name) != 0 || length + 6u > CODE_MAX)
			continue;
		count++;
		emit(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr), 0, 0);
		emit(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)refusals[i].nr, 0, refusals[i].value ? 3 : 1);
		if (refusals[i].value) { /* the low half of the argument, little-endian */
			emit(BPF_LD | BPF_W | BPF_ABS,
			     (unsigned)offsetof(struct seccomp_data, args) + refusals[i].argument * 8u, 0, 0);
			emit(BPF_JMP | refusals[i].test | BPF_K, refusals[i].value, 0, 1);
		}
		emit(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)refusals[i].error, 0, 0);
	}
	return count;
}

int main(int argc, char **argv)
{
	struct sock_fprog program = {.filter = code};
	int at = 1;

	for (; at < argc && argv[at][0] == '-'; at++) {
		if (refuse(argv[at] + 1) == 0) {
			fprintf(stderr, "cases-without: %s: unknown\n", argv[at]);
			return 99;
		}
	}
	if (at == 1)
		(void)refuse("pidfd_getfd"); /* is in the table */
	emit(BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
	program.len = length;
	if (at >= argc || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0) {
		perror("cases-without");
		return 99;
	}
	execv(argv[at], argv + at);
	perror(argv[at]);
	return 99;
}
