/*
 * The filter's decisions for made-up arguments, in an interpreter; and a comparison with libseccomp's filter of the
 * same table. Threats 1, 8, 13-15, 34, 37, 41.
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/fs.h>
#include <linux/netlink.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "confine/filter.h"
#include "syscalls/arch/arch.h"
#include "syscalls/table/table.h"
#include "tests/unit/confine/bpf-run.h"
#include "tests/unit/confine/filter-oracle.h"
#include "tests/unit/row-named.h"
#include "tests/unit/sanitized.h"
#include "tests/unit/unit.h"

#define NOTIFIED SECCOMP_RET_USER_NOTIF
#define NATIVELY SECCOMP_RET_ALLOW
#define HIGH (1ULL << 40)

static struct sock_fprog program, oracle;

static unsigned variant;

static void build_variant(unsigned traits)
{
	variant = traits;
	ck_assert_int_eq(filter_build_program(traits, &program), 0);
	ck_assert_int_eq(oracle_build(traits, &oracle), 0);
}

static void build(void)
{
	build_variant(0);
}

static void build_terminal(void)
{
	build_variant(RUN_OWN_TERMINALS);
}

static void build_fstat(void)
{
	build_variant(RUN_NATIVE_FSTAT);
}

static void build_ipc(void)
{
	build_variant(RUN_OWN_IPC);
}

static void build_memory(void)
{
	build_variant(RUN_SAMPLES_MEMORY);
}

static void build_inet(void)
{
	build_variant(RUN_HAS_TCP | RUN_HAS_UDP | RUN_JUDGES_MESSAGES);
}

static void build_tcp(void)
{
	build_variant(RUN_HAS_TCP | RUN_SHARED_NETNS);
}

static void build_routes(void)
{
	build_variant(RUN_NATIVE_NETLINK | RUN_SAMPLES_MEMORY | RUN_HAS_TCP);
}

static void build_standins(void)
{
	build_variant(RUN_HAS_STANDIN_SOCKETS);
}

static void build_pinned(void)
{
	build_variant(RUN_SETS_AFFINITY | RUN_RESTARTS_CALLS);
}

static void build_datagrams(void)
{
	build_variant(RUN_HAS_UNIX_DATAGRAMS | RUN_JUDGES_MESSAGES);
}

static void build_counted(void)
{
	build_variant(RUN_LIMITS_TASKS | RUN_LIMITS_DISK);
}

static void build_reads(void)
{
	build_variant(RUN_KERNEL_READS | RUN_NATIVE_FSTAT);
}

static void build_limited_reads(void)
{
	build_variant(RUN_KERNEL_READS | RUN_LIMITS_DISK);
}

static void drop(void)
{
	free(program.filter);
	free(oracle.filter);
}

static uint32_t verdict(uint32_t arch, uint32_t nr, const uint64_t arg[6])
{
	struct seccomp_data data = {.arch = arch, .nr = (int)nr};
	unsigned steps;
	uint32_t result;

	if (arg)
		memcpy(data.args, arg, sizeof(data.args));
	result = bpf_run(&program, &data, &steps);
	/* No ck_assert here: it writes a file each time. */
	if (result == BPF_RUN_BAD || result != bpf_run(&oracle, &data, &steps))
		ck_abort_msg("%u: %#x, but libseccomp's: %#x", nr, result, bpf_run(&oracle, &data, &steps));
	if (arch == arch_get_audit_arch() && arg && filter_notifies_call(variant, (int)nr, arg) != (result == NOTIFIED))
		ck_abort_msg("%u: %#x, but filter_notifies_call does not say so", nr, result);
	if (arch == arch_get_audit_arch() && result == NOTIFIED && !filter_may_notify(variant, (int)nr))
		ck_abort_msg("%u: %#x, but filter_may_notify does not say so", nr, result);
	return result;
}

/* A second implementation of the table's rules, for comparison. */
static bool term_holds(const struct row_term *term, const uint64_t arg[6])
{
	for (unsigned i = 0; i < term->compare_count; i++)
		if ((arg[term->compare[i].arg] & term->compare[i].mask) != term->compare[i].value)
			return false;
	return true;
}

static bool any_holds(const struct row_term *term, const uint64_t arg[6])
{
	for (; term->compare_count; term++)
		if (term_holds(term, arg))
			return true;
	return false;
}

static uint32_t expected(uint32_t nr, const uint64_t arg[6])
{
	const struct syscall_row *row = table_find_row((int)nr);

	if (!row)
		return NOTIFIED;
	if (oracle_native(variant, row))
		return NATIVELY;
	if (row->class == ROW_REFUSE_UNRECORDED)
		return SECCOMP_RET_ERRNO | (uint32_t)row->error;
	if (oracle_own(variant, row) && any_holds(row->allowed_if, arg))
		return NATIVELY;
	for (const struct row_more_terms *more = row->more_terms; more && more->terms; more++)
		if (oracle_also(variant, more) && any_holds(more->terms, arg))
			return NATIVELY;
	return NOTIFIED;
}

START_TEST(every_number_gets_the_verdict_of_its_row)
{
	static const uint64_t none[6];

	for (uint32_t nr = 0; nr < 1024; nr++)
		ck_assert_msg(verdict(arch_get_audit_arch(), nr, none) == expected(nr, none), "number %u", nr);
	ck_assert_uint_eq(verdict(arch_get_audit_arch(), UINT32_MAX, none), NOTIFIED);
	ck_assert_uint_eq(verdict(arch_get_audit_arch(), 0x7fffffff, none), NOTIFIED);
}
END_TEST

START_TEST(foreign_architectures_are_notified)
{
	static const uint32_t foreign[] = {AUDIT_ARCH_I386, AUDIT_ARCH_ARM, AUDIT_ARCH_X86_64, AUDIT_ARCH_AARCH64,
					   AUDIT_ARCH_MIPS64, 0, UINT32_MAX};

	for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++)
		for (uint32_t nr = 0; nr < 1024 && foreign[i] != arch_get_audit_arch(); nr++)
			ck_assert_uint_eq(verdict(foreign[i], nr, NULL), NOTIFIED);
}
END_TEST

START_TEST(x32_numbers_are_notified)
{
	for (uint32_t nr = 0; nr < 1024; nr++) {
		ck_assert_uint_eq(verdict(arch_get_audit_arch(), 0x40000000 | nr, NULL), NOTIFIED);
		ck_assert_uint_eq(verdict(arch_get_audit_arch(), 0x80000000 | nr, NULL), NOTIFIED);
	}
}
END_TEST

/* The value that a list of terms compares this argument with, by the seed. */
static void pick_value(const struct row_term *term, unsigned arg, unsigned seed, unsigned *n, uint64_t *value)
{
	for (; term && term->compare_count; term++)
		for (unsigned i = 0; i < term->compare_count; i++)
			if (term->compare[i].arg == arg && (*n)++ % 7 == seed % 7)
				*value = term->compare[i].value;
}

/* Arguments near the terms' values: with one bit flipped in the low and the high word. */
static uint64_t near_value(const struct syscall_row *row, unsigned arg, unsigned seed)
{
	uint64_t value = 0;
	unsigned n = 0;

	pick_value(row->allowed_if, arg, seed, &n, &value);
	for (const struct row_more_terms *more = row->more_terms; more && more->terms; more++)
		pick_value(more->terms, arg, seed, &n, &value);
	switch (seed / 7 % 4) {
	case 1:
		return value ^ 1ULL << seed / 28 % 64;
	case 2:
		return value | HIGH;
	case 3:
		return ~value;
	default:
		return value;
	}
}

START_TEST(arguments_are_compared_as_the_terms_say)
{
	size_t count;
	const struct syscall_row *rows = table_get_rows(&count);

	for (size_t i = 0; i < count; i++) {
		if ((rows[i].class != ROW_FILTER && !rows[i].more_terms) || rows[i].nr < 0)
			continue;
		for (unsigned seed = 0; seed < (SANITIZED ? 2000 : (unsigned)few_of(20000)); seed++) {
			uint32_t nr = (uint32_t)rows[i].nr;
			uint64_t arg[6];

			for (unsigned j = 0; j < 6; j++)
				arg[j] = near_value(&rows[i], j, seed * (j * 2 + 1) + seed / 1792);
			if (verdict(arch_get_audit_arch(), nr, arg) != expected(nr, arg))
				ck_abort_msg("%s: %#llx %#llx", rows[i].name, (unsigned long long)arg[0],
					     (unsigned long long)arg[1]);
		}
	}
}
END_TEST

#define OLD_FIOSETOWN 0x8901
#define TIOCLINUX_ 0x541C

struct attempt {
	const char *name;
	uint64_t arg[6];
	bool native;
};

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

/* What is not native is notified. Calls that this architecture lacks are skipped. */
static void try_attempts(const struct attempt *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct attempt *attempt = &list[i];
		const struct syscall_row *row = row_named(attempt->name);

		ck_assert_msg(row != NULL, "%s", attempt->name);
		if (row->nr >= 0)
			ck_assert_msg(verdict(arch_get_audit_arch(), (uint32_t)row->nr, attempt->arg) ==
					      (attempt->native ? NATIVELY : NOTIFIED),
				      "%s(%#llx, %#llx, %#llx, %#llx)", attempt->name,
				      (unsigned long long)attempt->arg[0], (unsigned long long)attempt->arg[1],
				      (unsigned long long)attempt->arg[2], (unsigned long long)attempt->arg[3]);
	}
}

START_TEST(attempts_by_hand)
{
	try_attempts(attempts, sizeof(attempts) / sizeof(attempts[0]));
}
END_TEST

/* The terminal ioctls of a shell with job control, an editor and stty; not TIOCSTI, which injects input. */
START_TEST(a_terminal_of_its_own_by_hand)
{
	static const struct attempt terminal[] = {
		{"ioctl", {0, TCGETS}, true},
		{"ioctl", {0, TCSETS}, true},
		{"ioctl", {0, TCSETSW | HIGH}, true},
		{"ioctl", {0, TCSETSF}, true},
		{"ioctl", {0, 0x402c542b}, true}, /* TCSETS2 */
		{"ioctl", {0, 0x402c542c}, true},
		{"ioctl", {0, 0x402c542d}, true},
		{"ioctl", {0, 0x402c542e}, false},
		{"ioctl", {0, TIOCSPGRP}, true},
		{"ioctl", {0, TIOCSWINSZ}, true},
		{"ioctl", {0, TCFLSH}, true},
		{"ioctl", {0, TCXONC}, true},
		{"ioctl", {0, TCSBRK}, true},
		{"ioctl", {0, TCSBRKP}, true},
		{"ioctl", {0, TIOCSTI}, false},
		{"ioctl", {0, TIOCSTI | HIGH}, false},
		{"ioctl", {0, TIOCLINUX_}, false},
		{"ioctl", {0, TIOCCONS}, false},
		{"ioctl", {0, TIOCSETD}, false},
		{"ioctl", {0, TIOCSCTTY}, true},
		{"ioctl", {0, TIOCSCTTY | HIGH}, true},
		{"ioctl", {0, TIOCNOTTY}, true},
		{"ioctl", {0, TIOCSPTLCK}, true},
		{"ioctl", {0, TIOCGPTN}, true},
		{"ioctl", {0, TIOCPKT}, true},
		{"ioctl", {0, TIOCSIG}, true},
		{"ioctl", {0, TIOCEXCL}, true},
		{"ioctl", {0, TIOCGPTPEER}, false}, /* judged */
		{"ioctl", {0, TIOCVHANGUP}, false},
		{"ioctl", {0, FIOASYNC}, true},
		{"ioctl", {0, OLD_FIOSETOWN}, false},
	};

	try_attempts(terminal, sizeof(terminal) / sizeof(terminal[0]));
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

	try_attempts(memory, sizeof(memory) / sizeof(memory[0]));
}
END_TEST

#define NET_MPTCP 262

START_TEST(internet_sockets_by_hand)
{
	static const struct attempt inet[] = {
		{"socket", {AF_INET, SOCK_STREAM, 0}, true},
		{"socket", {AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP}, true},
		{"socket", {AF_INET | HIGH, SOCK_STREAM | HIGH, IPPROTO_TCP | HIGH}, true},
		{"socket", {AF_INET, SOCK_STREAM, NET_MPTCP}, false},
		{"socket", {AF_INET, SOCK_STREAM, IPPROTO_SCTP}, false},
		{"socket", {AF_INET, SOCK_STREAM, IPPROTO_UDP}, false},
		{"socket", {AF_INET, SOCK_STREAM | 0x100, 0}, false},
		{"socket", {AF_INET, SOCK_DGRAM, IPPROTO_ICMP}, false},
		{"socket", {AF_INET, SOCK_DGRAM, IPPROTO_UDPLITE}, false},
		{"socket", {AF_INET6, SOCK_DGRAM, IPPROTO_ICMPV6}, false},
		{"socket", {AF_INET, SOCK_RAW, IPPROTO_TCP}, false},
		{"socket", {AF_INET, SOCK_SEQPACKET, 0}, false},
		{"socket", {AF_PACKET, SOCK_DGRAM, 0}, false},
		{"socket", {AF_NETLINK, SOCK_DGRAM, 0}, false},
		{"socket", {AF_UNIX, SOCK_DGRAM, 0}, false},
		{"socket", {AF_UNIX, SOCK_STREAM, 0}, true},
		{"socketpair", {AF_INET, SOCK_STREAM, 0}, false},
		{"setsockopt", {0, IPPROTO_TCP, TCP_NODELAY}, true},
		{"setsockopt", {0, IPPROTO_TCP, TCP_FASTOPEN}, false},
		{"setsockopt", {0, IPPROTO_TCP, TCP_FASTOPEN_CONNECT}, false},
		{"setsockopt", {0, IPPROTO_TCP | HIGH, TCP_FASTOPEN_CONNECT | HIGH}, false},
		{"setsockopt", {0, IPPROTO_TCP, TCP_REPAIR}, false},
		{"setsockopt", {0, IPPROTO_TCP, TCP_ULP}, false},
		{"setsockopt", {0, IPPROTO_TCP, TCP_CONGESTION}, false},
		{"setsockopt", {0, IPPROTO_IP, 24 /* IP_BIND_ADDRESS_NO_PORT */}, false},
		{"setsockopt", {0, IPPROTO_IP, 51 /* IP_LOCAL_PORT_RANGE */}, false},
		{"setsockopt", {0, SOL_SOCKET, SO_MARK}, false},
		{"setsockopt", {0, SOL_SOCKET, 83}, false}, /* SO_PASSRIGHTS */
		{"setsockopt", {0, SOL_SOCKET, SO_ATTACH_FILTER}, false},
		{"setsockopt", {0, IPPROTO_IP, IP_TRANSPARENT}, false},
		{"setsockopt", {0, IPPROTO_IP, IP_FREEBIND}, false},
		{"setsockopt", {0, IPPROTO_IP, IP_OPTIONS}, false},
		{"setsockopt", {0, IPPROTO_IPV6, IPV6_ADDRFORM}, false},
		{"getsockopt", {0, SOL_SOCKET, SO_ERROR}, true},
		{"getsockopt", {0, IPPROTO_TCP, TCP_INFO}, true},
		{"sendto", {0, 0, 0, 0, 0}, true},
		{"sendto", {0, 0, 0, MSG_FASTOPEN, 0}, false},
		{"sendto", {0, 0, 0, 0, 1}, false},
		{"connect", {0, 0, 0}, false},
		{"bind", {0, 0, 0}, false},
		{"listen", {0, 0}, false},
	};

	try_attempts(inet, sizeof(inet) / sizeof(inet[0]));
}
END_TEST

START_TEST(datagrams_by_hand)
{
	static const struct attempt datagrams[] = {
		{"socket", {AF_INET, SOCK_DGRAM, 0}, true},
		{"socket", {AF_INET6, SOCK_DGRAM, IPPROTO_UDP}, true},
		{"sendmsg", {0, 0, 0}, false},
		{"sendmmsg", {0, 0, 0, 0}, false},
		{"setsockopt", {0, SOL_SOCKET, SO_REUSEPORT}, true}, /* alone on its loopback */
		{"setsockopt", {0, SOL_SOCKET, SO_BINDTODEVICE}, true},
		{"setsockopt", {0, IPPROTO_IP, IP_ADD_MEMBERSHIP}, true},
		{"setsockopt", {0, SOL_SOCKET, SO_REUSEADDR}, true},
		{"setsockopt", {0, IPPROTO_IP, IP_RECVERR}, true},
		{"setsockopt", {0, IPPROTO_IPV6, IPV6_RECVERR}, true},
	};

	try_attempts(datagrams, sizeof(datagrams) / sizeof(datagrams[0]));
}
END_TEST

/* On a shared loopback. Where sendmsg is native, no socket exists for which a destination address matters. */
START_TEST(routes_by_hand)
{
	static const struct attempt queries[] = {
		{"socket", {AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE}, true},
		{"socket", {AF_NETLINK | HIGH, SOCK_DGRAM | HIGH, NETLINK_ROUTE | HIGH}, true},
		{"socket", {AF_NETLINK, SOCK_RAW, NETLINK_USERSOCK}, false},
		{"socket", {AF_NETLINK, SOCK_RAW, NETLINK_SOCK_DIAG}, false},
		{"socket", {AF_NETLINK, SOCK_RAW, NETLINK_KOBJECT_UEVENT}, false},
		{"socket", {AF_NETLINK, SOCK_STREAM, NETLINK_ROUTE}, false},
		{"socket", {AF_NETLINK, SOCK_RAW | 0x100, NETLINK_ROUTE}, false},
		{"socketpair", {AF_NETLINK, SOCK_RAW, NETLINK_ROUTE}, false},
		{"setsockopt", {0, SOL_NETLINK, NETLINK_EXT_ACK}, true},
		{"setsockopt", {0, SOL_NETLINK, NETLINK_LISTEN_ALL_NSID}, false},
		{"setsockopt", {0, SOL_NETLINK, NETLINK_RX_RING}, false},
		{"getsockopt", {0, SOL_NETLINK, NETLINK_LIST_MEMBERSHIPS}, true},
		{"ioctl", {0, SIOCGIFCONF}, true},
		{"ioctl", {0, SIOCSIFFLAGS}, false},
		{"ioctl", {0, SIOCSIFADDR}, false},
		{"ioctl", {0, SIOCETHTOOL}, false},
		{"ioctl", {0, SIOCGSKNS}, false},
		{"sendto", {3, 4096, 20, 0, 0, 0}, true},
	};

	try_attempts(queries, sizeof(queries) / sizeof(queries[0]));
}
END_TEST

START_TEST(standins_by_hand)
{
	static const struct attempt sends[] = {
		{"socket", {AF_NETLINK, SOCK_RAW, NETLINK_ROUTE}, false},
		{"setsockopt", {0, SOL_NETLINK, NETLINK_EXT_ACK}, false},
		{"ioctl", {0, SIOCGIFCONF}, false},
		{"sendto", {3, 4096, 20, 0, 0, 0}, false},
		{"sendto", {3, 4096, 20 + 32, 0, 0, 0}, false},
		{"sendto", {3, 4096, 20, MSG_NOSIGNAL, 0, 0}, true},
		{"sendto", {3, 4096, 20, MSG_DONTWAIT, 0, 0}, true},
		{"sendto", {3, 4096, 20, MSG_NOSIGNAL | MSG_FASTOPEN, 0, 0}, false},
		{"sendto", {3, 4096, 20, MSG_NOSIGNAL, 4096, 16}, false},
		{"sendto", {3, 4096, 0, 0, 0, 0}, true},
		{"sendto", {3, 4096, 19, 0, 0, 0}, true},
		{"sendto", {3, 4096, 21, 0, 0, 0}, true},
		{"sendto", {3, 4096, 4096, 0, 0, 0}, true},
		{"sendto", {3, 4096, 4096, MSG_FASTOPEN, 0, 0}, false},
		{"sendto", {3, 4096, 4096, 0, HIGH, 0}, false},
	};

	try_attempts(sends, sizeof(sends) / sizeof(sends[0]));
}
END_TEST

START_TEST(no_datagrams_by_hand)
{
	static const struct attempt streams[] = {
		{"socket", {AF_INET, SOCK_DGRAM, 0}, false},
		{"socket", {AF_INET6, SOCK_DGRAM, IPPROTO_UDP}, false},
		{"sendmsg", {0, 0, 0}, true},
		{"sendmsg", {0, 0, MSG_FASTOPEN}, false},
		{"sendmmsg", {0, 0, 0, MSG_FASTOPEN}, false},
		{"setsockopt", {0, SOL_SOCKET, SO_REUSEPORT}, false},
		{"setsockopt", {0, SOL_SOCKET, SO_BINDTODEVICE}, false},
		{"setsockopt", {0, IPPROTO_IP, IP_ADD_MEMBERSHIP}, false},
		{"setsockopt", {0, SOL_SOCKET, SO_REUSEADDR}, false},
		{"setsockopt", {0, IPPROTO_IP, IP_RECVERR}, false},
		{"setsockopt", {0, IPPROTO_IPV6, IPV6_RECVERR}, false},
		{"shutdown", {0, 0}, false},
	};

	try_attempts(streams, sizeof(streams) / sizeof(streams[0]));
}
END_TEST

START_TEST(unix_datagrams_by_hand)
{
	static const struct attempt datagrams[] = {
		{"socket", {AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC}, true},
		{"socket", {AF_UNIX, SOCK_RAW}, false},
		{"socket", {AF_INET, SOCK_DGRAM}, false},
		{"socketpair", {AF_UNIX, SOCK_DGRAM}, true},
		{"sendto", {0, 0, 1, 0, 0}, true},
		{"sendto", {0, 0, 1, 0, 1}, false},
		{"sendmsg", {0, 1, 0}, false},
		{"sendmmsg", {0, 1, 1, 0}, false},
		{"setsockopt", {0, SOL_SOCKET, SO_PASSCRED}, false},
		{"setsockopt", {0, SOL_SOCKET, SO_KEEPALIVE}, true},
	};

	try_attempts(datagrams, sizeof(datagrams) / sizeof(datagrams[0]));
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

	try_attempts(counted, sizeof(counted) / sizeof(counted[0]));
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

	try_attempts(masks, sizeof(masks) / sizeof(masks[0]));
}
END_TEST

/* Linux caches numbers that are always allowed (5.11): this bounds the cost of the others. */
START_TEST(the_program_stays_small)
{
	ck_assert_uint_lt(program.len, 736); /* 1,000 before it is shortened */
	for (uint32_t nr = 0; nr < 512; nr++) {
		struct seccomp_data data = {.arch = arch_get_audit_arch(), .nr = (int)nr};
		unsigned steps;

		(void)bpf_run(&program, &data, &steps);
		ck_assert_msg(steps <= 130, "number %u: %u steps", nr, steps);
	}
}
END_TEST

/* fstat by newfstatat: a descriptor with AT_EMPTY_PATH; int arguments by their low words. */
START_TEST(fstat_by_hand)
{
	static const struct attempt looks[] = {
		{"newfstatat", {3, 4096, 4096, 0x1000}, true},
		{"newfstatat", {3, 0, 4096, 0x1000}, true},
		{"newfstatat", {0, 4096, 4096, 0x1000}, true},
		{"newfstatat", {3 | HIGH, 4096, 4096, 0x1000 | HIGH}, true},
		{"newfstatat", {(uint32_t)AT_FDCWD, 4096, 4096, 0x1000}, false},
		{"newfstatat", {(uint64_t)AT_FDCWD, 4096, 4096, 0x1000}, false},
		{"newfstatat", {3, 4096, 4096, 0}, false},
		{"newfstatat", {3, 4096, 4096, HIGH}, false},
		{"newfstatat", {3, 4096, 4096, 0x1100}, false},
		{"newfstatat", {3, 4096, 4096, 0x1800}, false},
		{"newfstatat", {3, 4096, 4096, 0x100}, false},
		{"statx", {3, 4096, 0x1000, 0xfff, 4096}, true},
		{"statx", {(uint64_t)AT_FDCWD, 4096, 0x1000, 0xfff, 4096}, false},
		{"statx", {3, 4096, 0x1100, 0xfff, 4096}, false},
		{"statx", {3, 4096, 0, 0xfff, 4096}, false},
		{"stat", {4096, 4096}, false},
		{"faccessat2", {3, 4096, 0, 0x1000}, false},
	};

	try_attempts(looks, sizeof(looks) / sizeof(looks[0]));
}
END_TEST

#define TMPFILE_BIT 020000000u
/* Bounds of BPF instructions; now 17 and 13 on x86-64. */
#define STEPS_OF_OPEN 20u
#define STEPS_OF_STAT 16u

/* Calls that only read, where the kernel decides about them. */
static const struct attempt reads[] = {
	{"open", {4096, O_RDONLY}, true},
	{"open", {4096, O_RDONLY | O_CLOEXEC | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_NOATIME}, true},
	{"open", {4096, O_RDONLY | HIGH}, true},                 /* the kernel reads the low word only */
	{"open", {4096, O_WRONLY}, false},
	{"open", {4096, O_RDWR}, false},
	{"open", {4096, O_ACCMODE}, false},
	{"open", {4096, O_WRONLY | HIGH}, false},
	{"open", {4096, O_RDONLY | O_CREAT}, false},
	{"open", {4096, O_RDONLY | O_TRUNC}, false},
	{"open", {4096, O_RDONLY | O_CREAT | O_EXCL | HIGH}, false},
	{"open", {4096, O_RDONLY | TMPFILE_BIT}, false},
	{"open", {4096, O_RDONLY | TMPFILE_BIT | O_DIRECTORY}, false},
	{"openat", {(uint32_t)AT_FDCWD, 4096, O_RDONLY | O_CLOEXEC}, true},
	{"openat", {3, 4096, O_RDONLY | O_DIRECTORY | O_NONBLOCK}, true},
	{"openat", {3, 4096, O_RDONLY | HIGH}, true},
	{"openat", {3, 4096, O_WRONLY | O_APPEND}, false},
	{"openat", {3, 4096, O_RDWR}, false},
	{"openat", {3, 4096, O_RDONLY | O_CREAT}, false},
	{"openat", {3, 4096, O_RDONLY | O_TRUNC}, false},
	{"openat", {3, 4096, O_TMPFILE | O_RDONLY}, false},
	{"openat", {O_RDONLY, O_RDONLY, O_WRONLY}, false},
	{"openat2", {3, 4096, 4096, 24}, false},
	{"creat", {4096, 0}, false},
	{"stat", {4096, 4096}, true},
	{"lstat", {4096, 4096}, true},
	{"newfstatat", {(uint64_t)AT_FDCWD, 4096, 4096, 0}, true},
	{"newfstatat", {3, 4096, 4096, 0x1000}, true},
	{"statx", {(uint64_t)AT_FDCWD, 4096, AT_SYMLINK_NOFOLLOW, 0xfff, 4096}, true},
	{"access", {4096, F_OK}, true},
	{"access", {4096, R_OK}, true},
	{"access", {4096, W_OK}, false},
	{"access", {4096, R_OK | X_OK}, false},
	{"access", {4096, X_OK | HIGH}, false},
	{"faccessat", {3, 4096, R_OK}, true},
	{"faccessat", {3, 4096, R_OK | W_OK}, false},
	{"faccessat2", {3, 4096, F_OK, AT_EACCESS}, true},
	{"faccessat2", {3, 4096, X_OK, AT_EACCESS}, false},
	{"readlink", {4096, 4096, 100}, true},
	{"readlinkat", {3, 4096, 4096, 100}, true},
	{"getcwd", {4096, 100}, true},
	{"statfs", {4096, 4096}, true},
	{"getxattr", {4096, 4096, 4096, 100}, true},
	{"lgetxattr", {4096, 4096, 4096, 100}, true},
	{"getxattrat", {3, 4096, 0, 4096, 4096, 16}, true},
	{"listxattr", {4096, 4096, 100}, true},
	{"llistxattr", {4096, 4096, 100}, true},
	{"listxattrat", {3, 4096, 0, 4096, 100}, true},
	{"file_getattr", {3, 4096, 4096, 24, 0}, true},
	/* What changes, starts, or is told later. */
	{"file_setattr", {3, 4096, 4096, 24, 0}, false},
	{"setxattr", {4096, 4096, 4096, 1, 0}, false},
	{"removexattr", {4096, 4096}, false},
	{"truncate", {4096, 0}, false},
	{"chmod", {4096, 0644}, false},
	{"fchmod", {3, 0644}, false},
	{"utimensat", {3, 0, 0, 0}, false},
	{"mkdir", {4096, 0755}, false},
	{"unlink", {4096}, false},
	{"rename", {4096, 4096}, false},
	{"linkat", {3, 4096, 3, 4096, 0}, false},
	{"symlink", {4096, 4096}, false},
	{"chdir", {4096}, false},
	{"execve", {4096, 0, 0}, false},
	{"inotify_add_watch", {3, 4096, 1}, false},
	{"connect", {3, 4096, 16}, false},
};

START_TEST(reads_by_hand)
{
	static const struct attempt paths[] = {
		{"open", {4096, O_PATH | O_DIRECTORY}, true},
		{"open",
		 {4096, O_PATH | O_CREAT | O_RDWR},
		 true}, /* the kernel drops all that FLAGS_VALID_WITH_O_PATH lacks */
		{"openat", {3, 4096, O_PATH | O_NOFOLLOW | HIGH}, true},
	};

	try_attempts(reads, sizeof(reads) / sizeof(reads[0]));
	try_attempts(paths, sizeof(paths) / sizeof(paths[0]));
}
END_TEST

START_TEST(limited_reads_by_hand)
{
	static const struct attempt paths[] = {
		{"open", {4096, O_PATH | O_DIRECTORY}, false},
		{"openat", {3, 4096, O_PATH}, false},
	};

	try_attempts(reads, sizeof(reads) / sizeof(reads[0]));
	try_attempts(paths, sizeof(paths) / sizeof(paths[0]));
}
END_TEST

/* The number of instructions that the filter runs for a call which it must allow. */
static unsigned count_steps(const char *name, const uint64_t arg[6])
{
	struct seccomp_data data = {.arch = arch_get_audit_arch(), .nr = row_named(name)->nr};
	unsigned steps;

	memcpy(data.args, arg, sizeof(data.args));
	ck_assert_uint_eq(bpf_run(&program, &data, &steps), NATIVELY);
	return steps;
}

/*
 * What a native open and stat cost beside the call itself. Linux caches that statx is always allowed, so that its
 * instructions are run in other kernels only.
 */
START_TEST(native_reads_take_few_steps)
{
	static const uint64_t open[6] = {(uint64_t)AT_FDCWD, 4096, O_CLOEXEC}, stat[6] = {(uint64_t)AT_FDCWD, 4096};
	unsigned opened = count_steps("openat", open), asked = count_steps("statx", stat);

	ck_assert_msg(opened <= STEPS_OF_OPEN && asked <= STEPS_OF_STAT, "openat: %u steps, statx: %u", opened, asked);
	ck_assert(!filter_may_notify(variant, row_named("statx")->nr));
}
END_TEST

/* Without the trait all of them are judged. */
START_TEST(reads_are_judged)
{
	for (size_t i = 0; i < sizeof(reads) / sizeof(reads[0]); i++) {
		struct attempt judged = reads[i];

		judged.native = false;
		try_attempts(&judged, 1);
	}
}
END_TEST

START_TEST(ipc_of_its_own_by_hand)
{
	static const char *const names[] = {"shmget",       "shmat",           "shmctl",     "shmdt",
					    "semget",       "semop",           "semtimedop", "semctl",
					    "msgget",       "msgsnd",          "msgrcv",     "msgctl",
					    "mq_timedsend", "mq_timedreceive", "mq_notify",  "mq_getsetattr"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		ck_assert_uint_eq(verdict(arch_get_audit_arch(), (uint32_t)row_named(names[i])->nr, NULL), NATIVELY);
	ck_assert_uint_eq(verdict(arch_get_audit_arch(), (uint32_t)row_named("keyctl")->nr, NULL), NOTIFIED);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("filter");
	TCase *tcase = tcase_create("filter");
	TCase *terminal = tcase_create("terminal");
	TCase *looks = tcase_create("fstat");
	TCase *ipc = tcase_create("ipc"), *kernel = tcase_create("kernel reads");
	TCase *limited = tcase_create("kernel reads, disk is limited");
	TCase *inet = tcase_create("inet"), *memory = tcase_create("memory is sampled");
	TCase *tcp = tcase_create("tcp");
	TCase *routes = tcase_create("routes"), *standins = tcase_create("stand-ins");
	TCase *masks = tcase_create("masks"), *counted = tcase_create("forks and disk are counted");
	TCase *datagrams = tcase_create("unix datagrams");

	tcase_set_timeout(tcase, 120); /* for a busy machine */
	tcase_set_timeout(terminal, 120);
	tcase_set_timeout(looks, 120);
	tcase_set_timeout(inet, 120);
	tcase_set_timeout(tcp, 120);
	tcase_add_checked_fixture(tcase, build, drop);
	tcase_add_test(tcase, every_number_gets_the_verdict_of_its_row);
	tcase_add_test(tcase, foreign_architectures_are_notified);
	tcase_add_test(tcase, x32_numbers_are_notified);
	tcase_add_test(tcase, arguments_are_compared_as_the_terms_say);
	tcase_add_test(tcase, attempts_by_hand);
	tcase_add_test(tcase, the_program_stays_small);
	tcase_add_test(tcase, reads_are_judged);
	suite_add_tcase(suite, tcase);
	tcase_add_checked_fixture(terminal, build_terminal, drop);
	tcase_add_test(terminal, every_number_gets_the_verdict_of_its_row);
	tcase_add_test(terminal, arguments_are_compared_as_the_terms_say);
	tcase_add_test(terminal, a_terminal_of_its_own_by_hand);
	tcase_add_test(terminal, the_program_stays_small);
	suite_add_tcase(suite, terminal);
	tcase_add_checked_fixture(looks, build_fstat, drop);
	tcase_add_test(looks, arguments_are_compared_as_the_terms_say);
	tcase_add_test(looks, fstat_by_hand);
	suite_add_tcase(suite, looks);
	tcase_set_timeout(kernel, 120);
	tcase_add_checked_fixture(kernel, build_reads, drop);
	tcase_add_test(kernel, every_number_gets_the_verdict_of_its_row);
	tcase_add_test(kernel, arguments_are_compared_as_the_terms_say);
	tcase_add_test(kernel, reads_by_hand);
	tcase_add_test(kernel, native_reads_take_few_steps);
	tcase_add_test(kernel, the_program_stays_small);
	suite_add_tcase(suite, kernel);
	tcase_add_checked_fixture(limited, build_limited_reads, drop);
	tcase_add_test(limited, limited_reads_by_hand);
	suite_add_tcase(suite, limited);
	tcase_add_checked_fixture(ipc, build_ipc, drop);
	tcase_add_test(ipc, every_number_gets_the_verdict_of_its_row);
	tcase_add_test(ipc, ipc_of_its_own_by_hand);
	tcase_add_test(ipc, the_program_stays_small);
	suite_add_tcase(suite, ipc);
	tcase_add_checked_fixture(memory, build_memory, drop);
	tcase_add_test(memory, every_number_gets_the_verdict_of_its_row);
	tcase_add_test(memory, arguments_are_compared_as_the_terms_say);
	tcase_add_test(memory, memory_by_hand);
	suite_add_tcase(suite, memory);
	tcase_add_checked_fixture(inet, build_inet, drop);
	tcase_add_test(inet, every_number_gets_the_verdict_of_its_row);
	tcase_add_test(inet, arguments_are_compared_as_the_terms_say);
	tcase_add_test(inet, internet_sockets_by_hand);
	tcase_add_test(inet, datagrams_by_hand);
	suite_add_tcase(suite, inet);
	tcase_add_checked_fixture(tcp, build_tcp, drop);
	tcase_add_test(tcp, arguments_are_compared_as_the_terms_say);
	tcase_add_test(tcp, internet_sockets_by_hand);
	tcase_add_test(tcp, no_datagrams_by_hand);
	suite_add_tcase(suite, tcp);
	tcase_set_timeout(routes, 120);
	tcase_add_checked_fixture(routes, build_routes, drop);
	tcase_add_test(routes, every_number_gets_the_verdict_of_its_row);
	tcase_add_test(routes, arguments_are_compared_as_the_terms_say);
	tcase_add_test(routes, routes_by_hand);
	suite_add_tcase(suite, routes);
	tcase_add_checked_fixture(standins, build_standins, drop);
	tcase_add_test(standins, arguments_are_compared_as_the_terms_say);
	tcase_add_test(standins, standins_by_hand);
	suite_add_tcase(suite, standins);
	tcase_add_checked_fixture(masks, build_pinned, drop);
	tcase_add_test(masks, every_number_gets_the_verdict_of_its_row);
	tcase_add_test(masks, masks_by_hand);
	suite_add_tcase(suite, masks);
	tcase_add_checked_fixture(counted, build_counted, drop);
	tcase_add_test(counted, every_number_gets_the_verdict_of_its_row);
	tcase_add_test(counted, counted_by_hand);
	suite_add_tcase(suite, counted);
	tcase_add_checked_fixture(datagrams, build_datagrams, drop);
	tcase_add_test(datagrams, every_number_gets_the_verdict_of_its_row);
	tcase_add_test(datagrams, arguments_are_compared_as_the_terms_say);
	tcase_add_test(datagrams, unix_datagrams_by_hand);
	suite_add_tcase(suite, datagrams);
	return unit_run(suite);
}
