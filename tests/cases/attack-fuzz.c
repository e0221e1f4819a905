/*
 * attack-fuzz SECONDS SEED [THREADS [CANARY…]]: makes system calls with random numbers and arguments, from several
 * threads.
 *
 * A child that is killed by its own calls is started again. Runs inside callgate, whose supervisor must not be
 * affected. Exits with 0 when the time is over, however many children were killed. CANARY: what exists outside and
 * might be found by chance: a directory, a process, a TCP and a UDP port, an abstract unix name, the path of a unix
 * socket.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "syscalls/table/numbers.h"
#include "syscalls/table/table.h"

#define THREADS_MAX 16
#define CHILD_S 3   /* a generation: what it broke (its limits, its descriptors) goes with it */
#define PAGE 4096

static unsigned char *area;   /* three pages, the middle one read-only, an unmapped one behind */
static volatile bool over;

/* The canary: none of it may be reached. */
static struct {
	char file[PATH_MAX], new_file[PATH_MAX], link[PATH_MAX];
	pid_t pid;
	struct {
		struct sockaddr_storage to;
		socklen_t len;
	} address[6];
	struct iovec text;
	struct msghdr message[6];
	unsigned addresses;
} canary;

static const char *const paths[] = {
	canary.file,
	canary.new_file,
	canary.link,
	".",
	"..",
	"/",
	"a",
	"b",
	"d",
	"d/a",
	"link",
	"loop",
	"fifo",
	"/proc",
	"/proc/self",
	"/proc/self/fd/3",
	"/proc/self/fd/9",
	"/proc/thread-self/cwd",
	"/proc/self/exe",
	"/proc/self/root/etc",
	"/proc/1/environ",
	"/dev/null",
	"/dev/tty",
	"/dev/fd/5",
	"/etc/passwd",
	"/etc/shadow",
	"/tmp/x",
	"/tmp/../root",
	"/usr/lib",
	"/usr/bin/true",
	"/lib64",
	"d/../../..",
	"./././a/",
	"//a//b",
	"",
	"a/",
	"d/.",
	"link/..",
	"/dev/shm/y",
	"/proc/self/task",
	"/proc/self/maps",
	"/nonexistent/x",
};

/*
 * Calls that get somewhere only with arguments of the right kind: those of the syscall table's rows, and some that are
 * native and so have none there. d is a directory's descriptor, p a path, s a short text, b a buffer, f flags, m a
 * mode, n a number, i a descriptor, t a pid, a an address, l an address's length, v a message with an address, F a
 * socket's family, T its type.
 */
struct shaped {
	long nr;
	char shape[7];
};
static struct shaped shaped[512] = {
	{SYS_fchdir, "i"},        {SYS_close, "i"},        {SYS_dup3, "iin"},
	{SYS_inotify_init1, "n"}, {SYS_getdents64, "ibn"}, {SYS_ftruncate, "in"},
};
static size_t shaped_count;
static long numbers; /* above the highest of the table */

static char shape_of_socket(const char *name)
{
	static const struct {
		const char *name;
		char shape;
	} arguments[] = {{"addr", 'a'},   {"addrlen", 'l'}, {"msg", 'v'},
			 {"msgvec", 'v'}, {"domain", 'F'},  {"type", 'T'}};

	for (size_t i = 0; i < sizeof(arguments) / sizeof(arguments[0]); i++)
		if (strcmp(name, arguments[i].name) == 0)
			return arguments[i].shape;
	return 0;
}

static char shape_of(const struct syscall_row *row, unsigned i)
{
	static const char kinds[ARG_KIND_MAX] = {
		[ARG_DIRFD] = 'd',  [ARG_FD] = 'i',        [ARG_PATH] = 'p',    [ARG_PATH_OR_NULL] = 'p',
		[ARG_TEXT] = 's',   [ARG_OPENFLAGS] = 'f', [ARG_ATFLAGS] = 'f', [ARG_FLAGS] = 'f',
		[ARG_MODE] = 'm',   [ARG_INT] = 'n',       [ARG_UINT] = 'n',    [ARG_PID] = 't',
		[ARG_SIGNAL] = 'n', [ARG_SIZE] = 'n',      [ARG_PTR] = 'b',
	};
	bool net = row->intent == INTENT_SEND_OR_CONNECT || row->intent == INTENT_LISTEN;
	char shape = net && row->arg[i].name ? shape_of_socket(row->arg[i].name) : 0;

	return shape ? shape : kinds[row->arg[i].kind];
}

static void take_shapes(void)
{
	size_t count;
	const struct syscall_row *rows = table_get_rows(&count);

	while (shaped[shaped_count].shape[0])
		shaped_count++;
	for (size_t i = 0; i < count; i++) {
		if (rows[i].nr >= numbers)
			numbers = rows[i].nr + 1;
		if (rows[i].nr < 0 || rows[i].arg[0].kind == ARG_NONE)
			continue;
		shaped[shaped_count].nr = rows[i].nr;
		for (unsigned j = 0; j < 6; j++)
			shaped[shaped_count].shape[j] = shape_of(&rows[i], j);
		shaped_count++;
	}
}

static uint64_t next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static const char *any_path(uint64_t *state, char out[PATH_MAX + 16])
{
	uint64_t kind = next(state) % 16;
	size_t len;

	if (kind < 13)
		return paths[next(state) % (sizeof(paths) / sizeof(paths[0]))];
	len = kind == 13 ? PATH_MAX + 8 : kind == 14 ? NAME_MAX + next(state) % 3 : next(state) % 40;
	for (size_t i = 0; i < len; i++)
		out[i] = (char)(next(state) % 8 ? 'a' + (char)(next(state) % 3) : (char)next(state));
	out[len] = '\0';
	return out;
}

static uint64_t any_pointer(uint64_t *state)
{
	switch (next(state) % 8) {
	case 0:
		return 0;
	case 1:
		return (uint64_t)(uintptr_t)area + 3 * PAGE - next(state) % 32; /* runs over the end */
	case 2:
		return (uint64_t)(uintptr_t)area + PAGE + next(state) % 64; /* read-only */
	case 3:
		return next(state);
	default:
		return (uint64_t)(uintptr_t)area + (next(state) % 32) * 8;
	}
}

static uint64_t any_argument(uint64_t *state, char text[PATH_MAX + 16])
{
	switch (next(state) % 10) {
	case 0:
	case 1:
	case 2:
		return (uint64_t)(uintptr_t)any_path(state, text);
	case 3:
	case 4:
		return any_pointer(state);
	case 5:
		return next(state) % 12; /* a descriptor, a small number */
	case 6:
		return (uint64_t)(int64_t)-100; /* AT_FDCWD */
	case 7:
		return UINT64_C(1) << (next(state) % 64);
	case 8:
		return next(state) & 0xffff;
	default:
		return next(state);
	}
}

static uint64_t shaped_argument(uint64_t *state, char kind, char text[PATH_MAX + 16])
{
	switch (kind) {
	case 'd':
		return next(state) % 3 ? (uint64_t)(int64_t)-100 : next(state) % 24;
	case 'p':
		return (uint64_t)(uintptr_t)any_path(state, text);
	case 's':
		return (uint64_t)(uintptr_t)(next(state) % 2 ? "user.a" : "security.capability");
	case 'b':
		return next(state) % 8 ? (uint64_t)(uintptr_t)area + (next(state) % 32) * 8 : any_pointer(state);
	case 'f':
		return next(state) % 2 ? UINT64_C(1) << next(state) % 24 | next(state) % 4
				       : next(state) & next(state) & 0x7fffff;
	case 'm':
		return next(state) % 4 ? 0700 : next(state) & 0xffff;
	case 'i':
		return next(state) % 24;
	case 'a':
		return (uint64_t)(uintptr_t)&canary
			.address[next(state) % (sizeof(canary.address) / sizeof(canary.address[0]))]
			.to;
	case 'l':
		return canary.address[next(state) % (sizeof(canary.address) / sizeof(canary.address[0]))].len;
	case 'v':
		return (uint64_t)(uintptr_t)&canary
			.message[next(state) % (sizeof(canary.message) / sizeof(canary.message[0]))];
	case 'F':
		return (const uint64_t[]){AF_UNIX, AF_INET, AF_INET6, 0}[next(state) % 4] |
		       (next(state) % 16 ? 0 : next(state) % 50);
	case 'T':
		return (next(state) % 4 ? 1 + next(state) % 2 : next(state) % 8) |
		       (next(state) % 4 ? 0 : (uint64_t)SOCK_NONBLOCK);
	case 't':
		if (canary.pid && next(state) % 3 == 0)
			return (uint64_t)canary.pid;
		return next(state) % 4 ? (uint64_t)getpid() + next(state) % 3 : next(state) % 40000;
	default:
		return next(state) % 4 ? next(state) % 300 : next(state);
	}
}

/* Draws a call; its number. */
static long any_call(uint64_t *state, uint64_t arg[6], char text[6][PATH_MAX + 16])
{
	size_t which = next(state) % shaped_count;
	const char *shape = shaped[which].shape;
	size_t len = strlen(shape);
	bool random = next(state) % 4 == 0;

	for (unsigned i = 0; i < 6; i++)
		arg[i] = random || i >= len || next(state) % 16 == 0 ? any_argument(state, text[i])
								     : shaped_argument(state, shape[i], text[i]);
	return random ? (long)(next(state) % (uint64_t)numbers) : shaped[which].nr;
}

/* Of those that act natively: what would end or stall the fuzzer itself and tells nothing about the supervisor. */
static bool is_dull(long nr)
{
	static const long dull[] = {
		SYS_exit,
		SYS_exit_group,
		SYS_rt_sigreturn,
		SYS_munmap,
		SYS_mmap,
		SYS_mprotect,
		SYS_mremap,
		SYS_brk,
		SYS_madvise,
		SYS_futex,
		SYS_rt_sigsuspend,
		SYS_rt_sigtimedwait,
		SYS_clock_nanosleep,
		SYS_nanosleep,
		SYS_ppoll,
		SYS_pselect6,
		SYS_read,
		SYS_readv,
		SYS_pread64,
		SYS_preadv,
		SYS_recvfrom,
		SYS_wait4,
		SYS_waitid,
		SYS_epoll_pwait,
		SYS_accept,
		SYS_accept4,
		SYS_flock,
		SYS_clone,
		SYS_rt_sigaction,
		SYS_rt_sigprocmask,
		SYS_sigaltstack,
		SYS_write,
		SYS_writev,
		SYS_mlockall,
		SYS_sync,
		SYS_syncfs,
		SYS_setrlimit,
		SYS_seccomp,
		SYS_ptrace, /* what it stops, or what its parent traces, stays so: threat-ptrace.c */
		SYS_landlock_restrict_self,
		SYS_restart_syscall,
		SYS_set_robust_list,
		SYS_rseq,
		SYS_set_tid_address,
		SYS_setitimer,
		SYS_timer_settime,
		SYS_timer_create,
		SYS_shmdt,
		SYS_pkey_mprotect,
		SYS_mbind,
		SYS_close_range,
		SYS_setsid,
		SYS_unshare,
		SYS_personality,
		SYS_capset,
		SYS_umask,
		SYS_splice,
		SYS_tee,
		SYS_vmsplice,
		__SNR_futex_waitv,
		__SNR_futex_wake,
		__SNR_futex_wait,
		__SNR_futex_requeue,
#ifdef SYS_pause
		SYS_pause,
		SYS_poll,
		SYS_select,
		SYS_epoll_wait,
		SYS_fork,
		SYS_vfork,
		SYS_alarm,
		SYS_arch_prctl,
#endif
	};

	for (size_t i = 0; i < sizeof(dull) / sizeof(dull[0]); i++)
		if (dull[i] == nr)
			return true;
	return false;
}

static void *fuzz(void *seed)
{
	uint64_t state = *(const uint64_t *)seed;
	static _Thread_local char text[6][PATH_MAX + 16];

	while (!over) {
		uint64_t arg[6];
		long nr = any_call(&state, arg, text);

		if (is_dull(nr))
			continue;
		if (nr == SYS_prctl && (uint32_t)arg[0] == 22) /* PR_SET_SECCOMP, strict: no exit any more */
			continue;
		/*
		 * Its parent is not to be killed or stopped, and of itself only what it asks for: the canary may be
		 * tried.
		 */
		if (canary.pid && (pid_t)arg[0] == canary.pid)
			;
		else if (nr == SYS_kill || nr == SYS_tkill || nr == SYS_rt_sigqueueinfo || nr == SYS_pidfd_send_signal)
			arg[1] = 0;
		if ((nr == SYS_tgkill || nr == SYS_rt_tgsigqueueinfo) && (pid_t)arg[1] != canary.pid)
			arg[2] = 0;
		if (nr == SYS_prlimit64)
			arg[1] = arg[1] % 2 ? RLIMIT_NOFILE : RLIMIT_FSIZE;
		if (nr == SYS_execve || nr == SYS_execveat) /* what runs ends soon */
			arg[nr == SYS_execve ? 1 : 2] = 0;
		if (nr == SYS_close || nr == SYS_dup3)
			arg[nr == SYS_close ? 0 : 1] |= 8;
		(void)syscall(nr, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
		if (next(&state) % 64 == 0) /* descriptors 3 and up are for the calls: not all of them in the end */
			(void)close((int)(3 + next(&state) % 60));
	}
	return NULL;
}

static void generation(uint64_t seed, unsigned threads)
{
	const struct rlimit files = {64, 64}, size = {1 << 20, 1 << 20};
	static uint64_t seeds[THREADS_MAX];
	pthread_t thread;

	(void)setrlimit(RLIMIT_NOFILE, &files);
	(void)setrlimit(RLIMIT_FSIZE, &size);
	(void)signal(SIGXFSZ, SIG_IGN);
	(void)signal(SIGPIPE, SIG_IGN);
	(void)mkdir("d", 0755);
	(void)!symlink("d", "link");
	(void)!symlink("loop", "loop");
	(void)mkfifo("fifo", 0600);
	(void)alarm(CHILD_S + 2);
	for (unsigned i = 0; i < threads; i++) {
		seeds[i] = seed * 1000003 + i * 7919 + 1;
		if (pthread_create(&thread, NULL, fuzz, &seeds[i]) != 0)
			break;
	}
	(void)sleep(CHILD_S);
	over = true;
	syscall(SYS_exit_group, 0);
}

static void add_address(const void *to, socklen_t len)
{
	unsigned i = canary.addresses++;

	memcpy(&canary.address[i].to, to, len);
	canary.address[i].len = len;
	canary.message[i] = (struct msghdr){
		.msg_name = &canary.address[i].to, .msg_namelen = len, .msg_iov = &canary.text, .msg_iovlen = 1};
}

/* A path, or an abstract name. */
static void add_unix(const char *name, bool abstract)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	size_t len = strlen(name);

	if (len + 2 > sizeof(to.sun_path))
		return;
	memcpy(to.sun_path + abstract, name, len);
	add_address(&to, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + len));
}

/* Six arguments, or NULL: then there are addresses without a listener. */
static void find_canary(char **arg)
{
	struct sockaddr_in four = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};

	canary.text = (struct iovec){.iov_base = area, .iov_len = 16};
	(void)snprintf(canary.file, sizeof(canary.file), "%s/canary", arg ? arg[0] : "/nonexistent");
	(void)snprintf(canary.new_file, sizeof(canary.new_file), "%s/new", arg ? arg[0] : "/nonexistent");
	(void)snprintf(canary.link, sizeof(canary.link), "/proc/self/cwd/../%s/canary",
		       arg ? strrchr(arg[0], '/') : "");
	canary.pid = arg ? (pid_t)strtol(arg[1], NULL, 10) : 0;
	four.sin_port = htons((uint16_t)(arg ? strtoul(arg[2], NULL, 10) : 9));
	add_address(&four, sizeof(four));
	six.sin6_port = four.sin_port;
	add_address(&six, sizeof(six));
	four.sin_port = htons((uint16_t)(arg ? strtoul(arg[3], NULL, 10) : 9));
	add_address(&four, sizeof(four));
	add_unix(arg ? arg[4] : "nobody", true);
	add_unix(arg ? arg[5] : "/nonexistent", false);
	add_unix("socket-of-mine", false);
}

int main(int argc, char **argv)
{
	unsigned threads = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 4, killed = 0, generations = 0;
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
	time_t end = time(NULL) + (argc > 1 ? strtol(argv[1], NULL, 10) : 20);

	if (access("/proc/1", F_OK) == 0) {
		fputs("attack-fuzz: this is the host: it would harm it\n", stderr);
		return 2;
	}
	if (threads > THREADS_MAX)
		threads = THREADS_MAX;
	area = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (area == MAP_FAILED || mprotect(area + PAGE, PAGE, PROT_READ) < 0 || munmap(area + 3 * PAGE, PAGE) < 0) {
		perror("attack-fuzz: mmap");
		return 2;
	}
	take_shapes();
	find_canary(argc > 9 ? argv + 4 : NULL);
	while (time(NULL) < end) {
		int status;
		pid_t child = fork();

		if (child == 0)
			generation(seed + generations, threads);
		if (child < 0) {
			perror("attack-fuzz: fork");
			return 2;
		}
		generations++;
		while (waitpid(child, &status, 0) < 0 && errno == EINTR)
			;
		killed += WIFSIGNALED(status);
	}
	printf("attack-fuzz: %u generations, %u killed by a signal\n", generations, killed);
	return 0;
}
