/*
 * What judging costs in instructions, which do not depend on how busy a machine is: fixed calls through decode, view, policy,
 * handler and record, as a library, over a made-up tree. No listener: memory is served from here, and what valgrind does
 * not know (openat2) is answered by what it does. bench/instructions counts by callgrind.
 *
 *     bench-instructions [--build]      the second form says what the counts depend on
 */
#include <errno.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <linux/openat2.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "audit/audit.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/path.h"
#include "syscalls/call.h"
#include "syscalls/decode.h"
#include "syscalls/denials.h"
#include "syscalls/view-private.h"

#include "base/banned.h"

#define ROUNDS 200
#define GRANTS 1000
#define LONG_PATH 4000
#define PIDFD 1000000 /* of the program; no such descriptor is */
#define MEMORY 0x10000u /* where the program's text is, a page boundary */

#ifndef BENCH_FLAGS
#define BENCH_FLAGS ""
#endif

/* ---- the program ---- */

static char memory[PATH_MAX * 2];

static ssize_t memory_read(pid_t tid, uint64_t addr, void *out, size_t len)
{
	(void)tid;
	if (addr < MEMORY || addr - MEMORY >= sizeof(memory))
		return -EFAULT;
	if (len > sizeof(memory) - (addr - MEMORY))
		len = sizeof(memory) - (addr - MEMORY);
	memcpy(out, memory + (addr - MEMORY), len);
	return (ssize_t)len;
}

static ssize_t memory_write(pid_t tid, uint64_t addr, const void *from, size_t len)
{
	(void)tid;
	(void)addr;
	(void)from;
	return (ssize_t)len;
}

static const struct guest_ops guest = {.read = memory_read, .write = memory_write};

/* ---- what is not there under valgrind; the linker puts these in the place of libc's (--wrap) ---- */

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);
long __real_kernel_call(long number, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f);
long __wrap_kernel_call(long number, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret_now);

long __wrap_syscall(long number, ...)
{
	long arg[6];
	va_list args;

	va_start(args, number);
	for (unsigned i = 0; i < 6; i++)
		arg[i] = va_arg(args, long);
	va_end(args);
	if (number == SYS_pidfd_getfd)
		return fcntl((int)arg[1], F_DUPFD_CLOEXEC, 3);
	return __real_syscall(number, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
}

long __wrap_kernel_call(long number, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f)
{
	if (number == SYS_openat2) {
		const struct open_how *how = (const struct open_how *)c; /* NOLINT(performance-no-int-to-ptr) */

		return __real_kernel_call(SYS_openat, a, b, how->flags, 0, 0, 0);
	}
	if (number == SYS_ioctl) /* the listener: every notification is still waited for */
		return 0;
	return __real_kernel_call(number, a, b, c, d, e, f);
}

/* A microsecond later at each look: what is done again after some time must not depend on the machine's load. */
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret_now)
{
	static long looks;

	(void)clock;
	looks++;
	*ret_now = (struct timespec){.tv_sec = 1000 + looks / 1000000, .tv_nsec = looks % 1000000 * 1000};
	return 0;
}

/* ---- the policy, of the size of the profile `extended`, on names below one directory ---- */

static char top[32] = "/tmp/cg-instructions-XXXXXX";

static const char policy_text[] =
	"{\"version\": 1, \"name\": \"made-up\", \"filesystem\": {"
	"\"read\": [\"${TOP}/usr\", \"${TOP}/opt\", \"${TOP}/etc/bash.bashrc\", \"${TOP}/etc/debian_version\", \"${TOP}/etc/dpkg\","
	"\"${TOP}/etc/emacs\", \"${TOP}/etc/gai.conf\", \"${TOP}/etc/gitconfig\", \"${TOP}/etc/groff\", \"${TOP}/etc/inputrc\","
	"\"${TOP}/etc/java\", \"${TOP}/etc/login.defs\", \"${TOP}/etc/magic\", \"${TOP}/etc/mime.types\", \"${TOP}/etc/networks\","
	"\"${TOP}/etc/perl\", \"${TOP}/etc/profile\", \"${TOP}/etc/profile.d\", \"${TOP}/etc/protocols\", \"${TOP}/etc/services\","
	"\"${TOP}/etc/shells\", \"${TOP}/etc/ssl/certs\", \"${TOP}/etc/ssl/openssl.cnf\", \"${TOP}/etc/terminfo\","
	"\"${TOP}/etc/vim\", \"${TOP}/sys/kernel\", \"${TOP}/var/lib/dpkg\", \"${TOP}/var/lib/gems\", \"${TOP}/etc/fonts\","
	"\"${TOP}/usr/share/fonts\", \"${TOP}/usr/share/javascript\", \"${TOP}/var/cache/fontconfig\"],"
	"\"write\": [\"${TOP}/work\"],"
	"\"exec\": [\"${TOP}/usr/bin\", \"${TOP}/usr/lib\", \"${TOP}/usr/libexec\", \"${TOP}/usr/share\", \"${TOP}/usr/local\","
	"\"${TOP}/opt\", \"${TOP}/work\"],"
	"\"deny\": [\"${TOP}/home/.ssh\", \"${TOP}/home/.aws\", \"${TOP}/home/.azure\", \"${TOP}/home/.gnupg\","
	"\"${TOP}/home/.kube\", \"${TOP}/home/.docker\", \"${TOP}/home/.config/gcloud\", \"${TOP}/home/.config/gh\","
	"\"${TOP}/home/.netrc\", \"${TOP}/home/.git-credentials\", \"${TOP}/home/.npmrc\", \"${TOP}/home/.pypirc\","
	"\"${TOP}/home/.cargo/credentials\", \"${TOP}/work/secret\", \"**/.env\"]}}";

static const char *const directories[] = {
	"usr", "usr/bin", "usr/lib", "usr/lib/package", "usr/share", "opt", "etc", "etc/dpkg", "etc/emacs", "etc/groff",
	"etc/java", "etc/perl", "etc/profile.d", "etc/ssl", "etc/ssl/certs", "etc/terminfo", "etc/vim", "sys", "sys/kernel", "var",
	"var/lib", "var/lib/dpkg", "var/lib/gems", "etc/fonts", "var/cache", "var/cache/fontconfig", "work", "home",
	"scratch", "scratch/many",
};
static const char *const files[] = {
	"usr/bin/env", "usr/lib/package/module.py", "etc/bash.bashrc", "etc/debian_version", "etc/gai.conf", "etc/gitconfig",
	"etc/inputrc", "etc/login.defs", "etc/magic", "etc/mime.types", "etc/networks", "etc/profile", "etc/protocols",
	"etc/services", "etc/shells", "etc/ssl/openssl.cnf", "work/.env", "work/secret",
};

static void die(const char *what, int error)
{
	fprintf(stderr, "bench-instructions: %s: %s\n", what, strerror(error));
	exit(1);
}

static void make_tree(void)
{
	char path[PATH_MAX];

	if (!mkdtemp(top))
		die(top, errno);
	for (size_t i = 0; i < sizeof(directories) / sizeof(directories[0]); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", top, directories[i]);
		if (mkdir(path, 0700) < 0)
			die(path, errno);
	}
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", top, files[i]);
		if (mknod(path, S_IFREG | 0600, 0) < 0)
			die(path, errno);
	}
}

static int load_text(void *ctx, const char *name, const char *from, char **ret_text, char **ret_path)
{
	(void)from;
	*ret_text = strdup(ctx);
	*ret_path = strdup(name);
	return *ret_text && *ret_path ? 0 : -ENOMEM;
}

/* The thousand need not be there: the directory that holds them is granted as well, and is what is mounted. */
static char *real_name(void *ctx, const char *path)
{
	(void)ctx;
	return strstr(path, "/grant-") ? strdup(path) : realpath(path, NULL);
}

static const char *const *no_interpreter(void *ctx)
{
	static const char *const none[] = {NULL};

	(void)ctx;
	return none;
}

static const char *variable(void *ctx, const char *name)
{
	(void)ctx;
	return strcmp(name, "TOP") == 0 ? top : NULL;
}

static struct policy *load(const char *text, const char *scratch)
{
	static const char *const names[] = {"made-up.json", NULL};
	char work[PATH_MAX];
	const struct policy_cli cli = {.read = NULL};
	const struct policy_host host = {.ctx = (void *)(uintptr_t)text, .load = load_text, .realpath = real_name,
					 .interpreter = no_interpreter, .env = variable, .home = "/home/nobody", .workdir = work,
					 .workdir_virt_default = work, .scratch = scratch};
	struct policy_errors errors = {0};
	struct policy *policy = NULL;

	(void)snprintf(work, sizeof(work), "%s/work", top);
	if (policy_load(names, &cli, &host, &policy, &errors) < 0)
		die(errors.count ? errors.item[0].text : "policy", EINVAL);
	return policy;
}

static char *many_grants(void)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		die("policy", errno);
	fputs("{\"version\": 1, \"name\": \"many\", \"filesystem\": {\"read\": [\"${TOP}/usr\"", out);
	for (unsigned i = 0; i < GRANTS; i++)
		fprintf(out, ", \"${TOP}/usr/lib/grant-%u\"", i);
	fputs("]}}", out);
	if (fclose(out) != 0)
		die("policy", errno);
	return text;
}

/* ---- a run without a program ---- */

struct run {
	struct policy *policy;
	char scratch[PATH_MAX];
	struct sandbox sandbox;
	struct call call;
	struct task task;
};

/* Asks by name, as where the run has a mount namespace: names there are the host's here. */
static void stand_still(struct view *view)
{
	view->still_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	for (size_t i = 0; i < view->mounts; i++)
		if (!(view->mount[i]->flags & (MOUNT_SKELETON | MOUNT_PROC)))
			view->mount[i]->flags |= MOUNT_STILL;
}

static struct run *start(const char *text, const char *name)
{
	static char exe[] = "/usr/bin/python3.11";
	struct run *run = calloc(1, sizeof(*run));
	char log[PATH_MAX + 8];
	struct policy_error error;
	struct view_options options = {.scratch_host = run->scratch, .scratch_base = run->scratch, .tmpfs_fd = -1};
	const char *const argv[] = {"made-up", NULL};
	const struct audit_header header = {.run_id = "0123456789abcdef", .argv = argv, .policy_name = name, .policy_sha256 = "",
					    .workdir = top, .layers_json = "{}", .record_allowed = true};
	int r;

	(void)snprintf(run->scratch, sizeof(run->scratch), "%s/%s", top, name);
	(void)snprintf(log, sizeof(log), "%s.jsonl", run->scratch);
	run->policy = load(text, run->scratch);
	options.scratch_fd = open(run->scratch, O_PATH | O_DIRECTORY | O_CLOEXEC);
	r = view_create(run->policy, &options, &run->sandbox.view, &error);
	if (r < 0)
		die(error.text, -r);
	stand_still(run->sandbox.view);
	run->sandbox.view->bases = view_bases_create();
	r = audit_open(log, &header, &run->sandbox.audit);
	if (r < 0)
		die(log, -r);
	if (tree_create(getpid(), run->sandbox.view, -1, &run->sandbox.tree) < 0)
		die("tree", ENOMEM);
	run->sandbox.denials = denials_create();
	run->sandbox.policy = run->policy;
	run->sandbox.guest = &guest;
	run->sandbox.listener_fd = -1;
	run->task = (struct task){.tid = getpid(), .tgid = getpid(), .ppid = 1, .pidfd = PIDFD, .exe = exe};
	(void)close(options.scratch_fd);
	return run;
}

/* ---- the calls ---- */

/* As the dispatcher has it, without what receives and answers. */
static __attribute__((noinline)) int64_t judge(struct run *run, int number, const uint64_t arg[6])
{
	struct call *call = &run->call;
	int64_t result;

	call->sandbox = &run->sandbox;
	call->task = &run->task;
	call->tid = run->task.tid;
	call->row = table_find(number);
	call->start_ns = io_now_ns();
	memcpy(call->arg, arg, sizeof(call->arg));
	call->place[0].mount = call->place[1].mount = NULL;
	call->decision = (struct policy_decision){.verdict = VERDICT_ALLOW, .reason = "bad_argument"};
	call->outcome = (struct outcome){.kind = OUTCOME_ERROR, .value = -ENOSYS, .fd = -1};
	call->committed = false;
	if (decode_call(call) < 0 || !call_valid(call))
		die("decode", EINVAL);
	call->row->perform(call);
	if (call_commit(call) < 0)
		die("record", EIO);
	result = call->outcome.kind == OUTCOME_FD ? 3 : call->outcome.value;
	audit_end(run->sandbox.audit, call->slot, result, 12345);
	if (call->outcome.kind == OUTCOME_FD)
		(void)close(call->outcome.fd);
	return result;
}

/* A function of its own for each case, which callgrind tells the cost of; no optimisation may see that they are alike. */
#ifdef __clang__ /* which has no such attribute */
#define ALONE noinline
#else
#define ALONE noipa
#endif
#define MEASURE(name)                                                                                               \
	static __attribute__((ALONE)) int64_t measure_##name(struct run *run, int number, const uint64_t arg[6])   \
	{                                                                                                           \
		int64_t result = judge(run, number, arg);                                                           \
                                                                                                                    \
		__asm__ volatile("" ::: "memory");                                                                  \
		return result;                                                                                      \
	}
MEASURE(open)
MEASURE(stat)
MEASURE(denied)
MEASURE(absent)
MEASURE(relative)
MEASURE(long)
MEASURE(deep)
MEASURE(grants)

static const struct bench_case {
	int number;
	const char *path; /* NULL: made up */
	int64_t (*measure)(struct run *run, int number, const uint64_t arg[6]);
	int dirfd, wanted;
	bool many;
} cases[] = {
	{SYS_openat, "usr/lib/package/module.py", measure_open, AT_FDCWD, 3, false},
	{SYS_newfstatat, "usr/bin/env", measure_stat, AT_FDCWD, 0, false},
	{SYS_openat, "work/.env", measure_denied, AT_FDCWD, -EACCES, false},
	{SYS_openat, "etc/ld.so.preload", measure_absent, AT_FDCWD, -ENOENT, false},
	{SYS_newfstatat, "module.py", measure_relative, 0, 0, false},
	{SYS_newfstatat, NULL, measure_long, AT_FDCWD, -ENOENT, false},
	{SYS_newfstatat, NULL, measure_deep, AT_FDCWD, -ENOENT, false},
	{SYS_newfstatat, "usr/bin/env", measure_grants, AT_FDCWD, 0, true},
};

/* Names of 200 letters, or of one: below what is granted, and nothing is there. */
static void make_path(char *out, size_t name_len)
{
	size_t at = (size_t)snprintf(out, LONG_PATH, "%s/usr", top), end = name_len > 1 ? LONG_PATH : at + 200;

	while (at + 1 < end) {
		out[at++] = '/';
		for (size_t i = 0; i < name_len && at + 1 < end; i++)
			out[at++] = 'd';
	}
	out[at] = '\0';
}

static void run_case(struct run *run, const struct bench_case *one, int directory)
{
	uint64_t arg[6] = {(uint64_t)(int64_t)(one->dirfd == AT_FDCWD ? AT_FDCWD : directory), MEMORY, 0x20000, 0, 0, 0};

	if (one->number == SYS_openat)
		arg[2] = O_RDONLY | O_CLOEXEC;
	if (!one->path)
		make_path(memory, one->measure == measure_long ? 200 : 1);
	else if (one->dirfd == AT_FDCWD)
		(void)snprintf(memory, sizeof(memory), "%s/%s", top, one->path);
	else
		(void)snprintf(memory, sizeof(memory), "%s", one->path);
	/* Once without being counted: what is found out once is. */
	if (judge(run, one->number, arg) != one->wanted)
		die(memory, EDOM);
	for (unsigned i = 0; i < ROUNDS; i++)
		(void)one->measure(run, one->number, arg);
}

int main(int argc, char **argv)
{
	char path[PATH_MAX], *grants;
	struct run *run, *many;
	int directory;

	if (argc > 1 && strcmp(argv[1], "--build") == 0) {
		printf("%s %s, glibc %s, flags %s\n",
#ifdef __clang__
		       "clang",
#else
		       "gcc",
#endif
		       __VERSION__, gnu_get_libc_version(), BENCH_FLAGS);
		return 0;
	}
	make_tree();
	grants = many_grants();
	run = start(policy_text, "scratch");
	many = start(grants, "scratch/many");
	(void)snprintf(path, sizeof(path), "%s/usr/lib/package", top);
	directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		run_case(cases[i].many ? many : run, &cases[i], directory);
	printf("%u calls of each case\n", ROUNDS);
	free(grants);
	return io_remove_tree(AT_FDCWD, top) < 0;
}
