/* What the filter says of calls that programs try, written by hand. Threats 1, 8, 13-15, 34, 37. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "tests/unit/confine/filter-rig.h"

#define OLD_FIOSETOWN 0x8901
#define TIOCLINUX_ 0x541C

/* Hand-written expectations, independent of the table. */
static const struct attempt attempts[] = {
	{"ioctl", {0, TCGETS}, true},
	{"ioctl", {0, FIONREAD}, true},
	{"ioctl", {0, FIONREAD | HIGH}, true}, /* the kernel reads the low word only */
	{"ioctl", {0, TIOCSTI}, false},
	{"ioctl", {0, TIOCSTI | HIGH}, false},
	{"ioctl", {0, TIOCSTI | UINT64_C(0xffffffff00000000)}, false},
	{"ioctl", {0, TIOCLINUX_}, false},
	{"ioctl", {0, TIOCSPGRP}, false},
	{"ioctl", {0, TIOCSCTTY}, false},
	{"ioctl", {0, TIOCSWINSZ}, false},
	{"ioctl", {0, TCSETS}, false},
	{"ioctl", {0, FIOASYNC}, true},
	{"ioctl", {0, OLD_FIOSETOWN}, false},
	{"ioctl", {0, FS_IOC_SETFLAGS}, false},
	{"ioctl", {0, FS_IOC_FSSETXATTR}, false},
	{"ioctl", {0, FIDEDUPERANGE}, false},
	{"fcntl", {0, F_GETFL}, true},
	{"fcntl", {0, F_SETFL, O_NONBLOCK | O_APPEND}, true},
	{"fcntl", {0, F_SETFL, O_ASYNC}, true},
	{"fcntl", {0, F_SETOWN, 1}, false},
	{"fcntl", {0, F_SETOWN | HIGH, 1}, false},
	{"fcntl", {0, F_SETOWN_EX}, false},
	{"fcntl", {0, F_SETSIG}, true},
	{"fcntl", {0, F_SETLEASE}, false},
	{"fcntl", {0, F_NOTIFY}, false},
	{"fcntl", {0, F_SET_RW_HINT}, false},
	{"clone", {CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SETTLS}, true},
	{"clone", {CLONE_VM | CLONE_VFORK | 17}, true},
	{"clone", {CLONE_PARENT | CLONE_PIDFD | 17}, true},
	{"clone", {CLONE_UNTRACED}, true},
	{"clone", {CLONE_PTRACE}, false},
	{"clone", {CLONE_NEWUSER}, false},
	{"clone", {CLONE_NEWNS}, false},
	{"clone", {CLONE_NEWPID}, false},
	{"clone", {CLONE_NEWNET | HIGH}, false},
	{"clone", {CLONE_NEWIPC | 17}, false},
	{"clone", {CLONE_NEWUTS | 17}, false},
	{"clone", {CLONE_NEWCGROUP | 17}, false},
	{"unshare", {CLONE_FILES | CLONE_FS}, true},
	{"unshare", {CLONE_NEWUSER | CLONE_FS}, false},
	{"unshare", {CLONE_NEWNS}, false},
	{"unshare", {0x80}, false}, /* CLONE_NEWTIME */
	{"unshare", {HIGH}, false},
	{"prctl", {PR_SET_NAME}, true},
	{"prctl", {PR_SET_DUMPABLE, 1}, true},
	{"prctl", {PR_SET_DUMPABLE, 0}, false},
	{"prctl", {PR_SET_DUMPABLE | HIGH, 0}, false},
	{"prctl", {PR_SET_DUMPABLE, 1 | HIGH}, false},
	{"prctl", {PR_SET_DUMPABLE, 2}, false},
	{"prctl", {PR_SET_PTRACER, 1}, false},
	{"prctl", {PR_SET_MM, 1}, false},
	{"prctl", {PR_SET_SECUREBITS, 0}, false},
	{"personality", {0xffffffff}, true},
	{"personality", {ADDR_NO_RANDOMIZE}, true},
	{"personality", {READ_IMPLIES_EXEC}, false},
	{"personality", {PER_LINUX32}, false},
	{"seccomp", {SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC}, true},
	{"seccomp", {SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER}, false},
	{"seccomp", {SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER | HIGH}, false},
	{"seccomp", {SECCOMP_SET_MODE_FILTER | HIGH, SECCOMP_FILTER_FLAG_NEW_LISTENER | 1}, false},
	{"socket", {AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC}, true},
	{"socket", {AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK}, true},
	{"socket", {AF_UNIX, SOCK_DGRAM}, false},
	{"socket", {AF_UNIX, SOCK_RAW}, false}, /* the kernel makes it a datagram socket */
	{"socket", {AF_UNIX, SOCK_DGRAM | HIGH}, false},
	{"socket", {AF_INET, SOCK_STREAM}, false},
	{"socket", {AF_INET6 | HIGH, SOCK_STREAM}, false},
	{"socket", {AF_NETLINK, SOCK_RAW}, false},
	{"socketpair", {AF_UNIX, SOCK_STREAM}, true},
	{"socketpair", {AF_UNIX, SOCK_DGRAM}, false},
	{"sendto", {3, 4096, 1, MSG_NOSIGNAL, 0, 0}, true},
	{"sendto", {3, 4096, 1, 0, 4096, 16}, false},
	{"sendto", {3, 4096, 1, 0, HIGH, 16}, false},
	{"sendto", {3, 4096, 1, MSG_FASTOPEN, 0, 0}, false},
	{"sendto", {3, 4096, 1, MSG_FASTOPEN | HIGH, 0, 0}, false},
	{"sendmsg", {3, 4096, 0}, true},
	{"sendmsg", {3, 4096, MSG_FASTOPEN | MSG_DONTWAIT}, false},
	{"sendmmsg", {3, 4096, 2, MSG_FASTOPEN | HIGH}, false},
	{"setsockopt", {3, SOL_SOCKET, SO_SNDBUF}, true},
	{"setsockopt", {3, SOL_SOCKET, SO_REUSEPORT}, false},
	{"setsockopt", {3, SOL_SOCKET, 83 /* SO_PASSRIGHTS */}, false},
	{"setsockopt", {3, SOL_SOCKET | HIGH, SO_MARK}, false},
	{"setsockopt", {3, 0 /* SOL_IP */, 19 /* IP_TRANSPARENT */}, false},
	{"getsockopt", {3, SOL_SOCKET, SO_ERROR}, true},
	{"getsockopt", {3, SOL_SOCKET, 77 /* SO_PEERPIDFD */}, false},
	{"prlimit64", {0}, true},
	{"prlimit64", {HIGH}, true}, /* pid 0 to the kernel */
	{"prlimit64", {1}, false},
	{"prlimit64", {0, RLIMIT_CORE}, true}, /* reads */
	{"prlimit64", {0, RLIMIT_CORE, 4096}, false},
	{"prlimit64", {0, RLIMIT_CORE | HIGH, 4096}, false},
	{"prlimit64", {0, RLIMIT_CPU, 4096}, true},
	{"prlimit64", {0, RLIMIT_RSS, 4096}, true},
	{"prlimit64", {0, RLIMIT_NOFILE}, true},
	{"prlimit64", {0, RLIMIT_NOFILE, 4096}, false}, /* EMFILE depends on it */
	{"prlimit64", {0, RLIMIT_NPROC, 4096}, true},
	{"prlimit64", {0, RLIMIT_RTTIME, 4096}, true},
	{"prlimit64", {1, RLIMIT_CPU, 4096}, false},
	{"setrlimit", {RLIMIT_CORE, 4096}, false},
	{"setrlimit", {RLIMIT_CORE | HIGH, 4096}, false},
	{"setrlimit", {RLIMIT_STACK, 4096}, true},
	{"setrlimit", {RLIMIT_NPROC, 4096}, true},
	{"setrlimit", {RLIMIT_NOFILE, 4096}, false},
	{"setrlimit", {RLIMIT_RTTIME, 4096}, true},
	{"sched_setaffinity", {1}, false},
	{"sched_setaffinity", {0}, true},
	{"sched_getaffinity", {1}, true},
	{"setpriority", {0, 0}, true},
	{"setpriority", {0, 1}, false},
	{"setpriority", {1, 0}, false},
	{"setpriority", {2, 0}, false},
	{"ioprio_set", {1, 0}, true},
	{"ioprio_set", {3, 0}, false},
	{"move_pages", {0}, true},
	{"move_pages", {1}, false},
	{"get_robust_list", {1}, false},
	{"newfstatat", {3, 0, 4096, 0x1000}, true},
	{"newfstatat", {3, 0, 4096, 0}, false},
	{"newfstatat", {3, HIGH, 4096, 0x1000}, false},
	{"newfstatat", {3, 4096, 4096, 0x1000}, false},
	{"statx", {3, 0, 0x1000}, true},
	{"statx", {3, 4096, 0x1000}, false},
};

START_TEST(attempts_by_hand)
{
	filter_rig_try(attempts, sizeof(attempts) / sizeof(attempts[0]));
}
END_TEST

/* The terminal ioctls of a shell with job control, an editor and stty; not TIOCSTI, which injects input. */
START_TEST(a_terminal_of_its_own_by_hand)
{
	static const struct attempt terminal[] = {
		{"ioctl", {0, TCGETS}, true},          {"ioctl", {0, TCSETS}, true},
		{"ioctl", {0, TCSETSW | HIGH}, true},  {"ioctl", {0, TCSETSF}, true},
		{"ioctl", {0, 0x402c542b}, true}, /* TCSETS2 */
		{"ioctl", {0, 0x402c542c}, true},      {"ioctl", {0, 0x402c542d}, true},
		{"ioctl", {0, 0x402c542e}, false},     {"ioctl", {0, TIOCSPGRP}, true},
		{"ioctl", {0, TIOCSWINSZ}, true},      {"ioctl", {0, TCFLSH}, true},
		{"ioctl", {0, TCXONC}, true},          {"ioctl", {0, TCSBRK}, true},
		{"ioctl", {0, TCSBRKP}, true},         {"ioctl", {0, TIOCSTI}, false},
		{"ioctl", {0, TIOCSTI | HIGH}, false}, {"ioctl", {0, TIOCLINUX_}, false},
		{"ioctl", {0, TIOCCONS}, false},       {"ioctl", {0, TIOCSETD}, false},
		{"ioctl", {0, TIOCSCTTY}, true},       {"ioctl", {0, TIOCSCTTY | HIGH}, true},
		{"ioctl", {0, TIOCNOTTY}, true},       {"ioctl", {0, TIOCSPTLCK}, true},
		{"ioctl", {0, TIOCGPTN}, true},        {"ioctl", {0, TIOCPKT}, true},
		{"ioctl", {0, TIOCSIG}, true},         {"ioctl", {0, TIOCEXCL}, true},
		{"ioctl", {0, TIOCGPTPEER}, false}, /* judged */
		{"ioctl", {0, TIOCVHANGUP}, false},    {"ioctl", {0, FIOASYNC}, true},
		{"ioctl", {0, OLD_FIOSETOWN}, false},
	};

	filter_rig_try(terminal, sizeof(terminal) / sizeof(terminal[0]));
}
END_TEST

START_TEST(memory_by_hand)
{
	static const struct attempt memory[] = {
		{"mmap", {0, 4096, 3, MAP_PRIVATE | MAP_ANONYMOUS}, true},
		{"mmap", {0, 4096, 3, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK | MAP_FIXED}, true},
		{"mmap", {0, 4096, 3, MAP_PRIVATE | MAP_ANONYMOUS | HIGH}, true},
		{"mmap", {0, 4096, 3, MAP_SHARED, 5}, true},
		{"mmap", {0, 4096, 3, MAP_SHARED_VALIDATE, 5}, true},
		{"mmap", {0, 4096, 3, MAP_PRIVATE, 5}, true},
		{"mmap", {0, 4096, 3, MAP_SHARED | MAP_ANONYMOUS}, false},
		{"mmap", {0, 4096, 3, MAP_SHARED | MAP_ANONYMOUS | HIGH, 5}, false},
		{"mmap", {0, 4096, 3, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE}, false},
		{"mmap", {0, 4096, 3, MAP_SHARED_VALIDATE | MAP_ANONYMOUS}, false},
		{"mmap", {0, 4096, 3, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB}, false},
		{"mmap", {0, 4096, 3, MAP_PRIVATE | MAP_HUGETLB, 5}, false},
		{"memfd_create", {0, 0}, false},
		{"sendfile", {1, 2, 0, 1}, false},
		{"splice", {1, 0, 2, 0, 1}, false},
		{"vmsplice", {1, 0, 1}, false},
		{"tee", {1, 2, 1}, true},
		{"fcntl", {0, F_SETPIPE_SZ, 4096}, false},
		{"fcntl", {0, F_GETPIPE_SZ}, true},
		{"setsockopt", {0, SOL_SOCKET, SO_SNDBUF}, false},
		{"setsockopt", {0, SOL_SOCKET, SO_RCVBUF}, false},
		{"setsockopt", {0, SOL_SOCKET, SO_KEEPALIVE}, true},
	};

	filter_rig_try(memory, sizeof(memory) / sizeof(memory[0]));
}
END_TEST

START_TEST(counted_by_hand)
{
	static const struct attempt counted[] = {
		{"clone", {17}, false},
		{"clone", {0x3d0f00}, false}, /* a glibc thread */
		{"fork", {0}, false},
		{"vfork", {0}, false},
		{"fallocate", {3, 0, 0, 4096}, false},
		{"mmap", {0, 4096, 3, MAP_SHARED | MAP_ANONYMOUS}, true},
		{"memfd_create", {0, 0}, true},
	};

	filter_rig_try(counted, sizeof(counted) / sizeof(counted[0]));
}
END_TEST

START_TEST(masks_by_hand)
{
	static const struct attempt masks[] = {
		{"clone", {17}, true},
		{"fork", {0}, true},
		{"sched_getaffinity", {0}, false},
		{"sched_setaffinity", {0}, false},
		{"sched_setscheduler", {0}, true},
	};

	filter_rig_try(masks, sizeof(masks) / sizeof(masks[0]));
}
END_TEST

START_TEST(ipc_of_its_own_by_hand)
{
	static const char *const names[] = {"shmget",       "shmat",           "shmctl",     "shmdt",
					    "semget",       "semop",           "semtimedop", "semctl",
					    "msgget",       "msgsnd",          "msgrcv",     "msgctl",
					    "mq_timedsend", "mq_timedreceive", "mq_notify",  "mq_getsetattr"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		ck_assert_uint_eq(filter_rig_judge(arch_get_audit_arch(), (uint32_t)row_named(names[i])->nr, NULL),
				  NATIVELY);
	ck_assert_uint_eq(filter_rig_judge(arch_get_audit_arch(), (uint32_t)row_named("keyctl")->nr, NULL), NOTIFIED);
}
END_TEST

static void build(void)
{
	filter_rig_build(0);
}

static void build_terminal(void)
{
	filter_rig_build(RUN_OWN_TERMINALS);
}

static void build_ipc(void)
{
	filter_rig_build(RUN_OWN_IPC);
}

static void build_memory(void)
{
	filter_rig_build(RUN_SAMPLES_MEMORY);
}

static void build_pinned(void)
{
	filter_rig_build(RUN_SETS_AFFINITY | RUN_RESTARTS_CALLS);
}

static void build_counted(void)
{
	filter_rig_build(RUN_LIMITS_TASKS | RUN_LIMITS_DISK);
}

int main(void)
{
	Suite *suite = suite_create("filter attempts");
	TCase *tcase = tcase_create("filter");
	TCase *terminal = tcase_create("terminal");
	TCase *ipc = tcase_create("ipc");
	TCase *memory = tcase_create("memory is sampled");
	TCase *masks = tcase_create("masks");
	TCase *counted = tcase_create("forks and disk are counted");

	tcase_set_timeout(tcase, 120); /* for a busy machine */
	tcase_add_checked_fixture(tcase, build, filter_rig_drop);
	tcase_add_test(tcase, attempts_by_hand);
	suite_add_tcase(suite, tcase);
	tcase_set_timeout(terminal, 120);
	tcase_add_checked_fixture(terminal, build_terminal, filter_rig_drop);
	tcase_add_test(terminal, a_terminal_of_its_own_by_hand);
	suite_add_tcase(suite, terminal);
	tcase_set_timeout(ipc, 120);
	tcase_add_checked_fixture(ipc, build_ipc, filter_rig_drop);
	tcase_add_test(ipc, ipc_of_its_own_by_hand);
	suite_add_tcase(suite, ipc);
	tcase_set_timeout(memory, 120);
	tcase_add_checked_fixture(memory, build_memory, filter_rig_drop);
	tcase_add_test(memory, memory_by_hand);
	suite_add_tcase(suite, memory);
	tcase_set_timeout(masks, 120);
	tcase_add_checked_fixture(masks, build_pinned, filter_rig_drop);
	tcase_add_test(masks, masks_by_hand);
	suite_add_tcase(suite, masks);
	tcase_set_timeout(counted, 120);
	tcase_add_checked_fixture(counted, build_counted, filter_rig_drop);
	tcase_add_test(counted, counted_by_hand);
	suite_add_tcase(suite, counted);
	return unit_run(suite);
}
