/*
 * What judging costs in instructions, which do not depend on how busy a machine is: fixed calls through decode, view,
 * policy, handler and record, as a library, over a made-up tree. No listener: memory is served from here, and what
 * valgrind does not know (openat2) is answered by what it does. bench/instructions counts by callgrind.
 *
 *     bench-instructions [--build]      the second form says what the counts depend on
 */
#include <errno.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "audit/audit.h"
#include "base/io.h"
#include "bench/judged-calls.h"
#include "syscalls/account/result/denials.h"
#include "syscalls/call/call.h"
#include "syscalls/call/decode.h"
#include "syscalls/table/handlers.h"
#include "view/private.h"

#define ROUNDS 200
#define LONG_PATH 4000
#define PIDFD 1000000 /* of the program; no such descriptor is */

#ifndef BENCH_FLAGS
#define BENCH_FLAGS ""
#endif

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
	view->nosymfollow_root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	for (size_t i = 0; i < view->mount_count; i++)
		if (!(view->mount[i]->flags & (MOUNT_SKELETON | MOUNT_PROC)))
			view->mount[i]->flags |= MOUNT_HAS_NOSYMFOLLOW_COPY;
}

static struct run *start(const char *text, const char *name)
{
	static char exe[] = "/usr/bin/python3.11";
	struct run *run = calloc(1, sizeof(*run));
	char log[PATH_MAX + 8];
	struct policy_error error;
	struct view_options options = {.acls_fd = -1,
				       .scratch_host = run->scratch,
				       .scratch_base = run->scratch,
				       .root_fd = -1,
				       .tmpfs_fd = -1,
				       .pts_fd = -1};
	const char *const argv[] = {"made-up", NULL};
	const struct audit_header header = {.run_id = "0123456789abcdef",
					    .argv = argv,
					    .policy_name = name,
					    .policy_sha256 = "",
					    .workdir = judged_top,
					    .layers_json = "{}",
					    .records_allowed_calls = true};
	int r;

	(void)snprintf(run->scratch, sizeof(run->scratch), "%s/%s", judged_top, name);
	(void)snprintf(log, sizeof(log), "%s.jsonl", run->scratch);
	run->policy = judged_load(text, run->scratch);
	options.scratch_fd = open(run->scratch, O_PATH | O_DIRECTORY | O_CLOEXEC);
	r = view_create(run->policy, &options, &run->sandbox.view, &error);
	if (r < 0)
		judged_die(error.text, -r);
	stand_still(run->sandbox.view);
	run->sandbox.view->start_dir_cache = calloc(1, sizeof(struct start_dir_cache_state));
	r = audit_open_log(log, &header, &run->sandbox.audit);
	if (r < 0)
		judged_die(log, -r);
	if (task_table_create(getpid(), run->sandbox.view, -1, &run->sandbox.tree) < 0)
		judged_die("tree", ENOMEM);
	run->sandbox.denials = denials_create();
	run->sandbox.policy = run->policy;
	run->sandbox.target_memory = &judged_guest;
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
	call->row = table_find_row(number);
	call->start_ns = io_read_clock_ns();
	memcpy(call->arg, arg, sizeof(call->arg));
	call->resolved_place[0].mount = call->resolved_place[1].mount = NULL;
	call->decision = (struct policy_decision){.verdict = VERDICT_ALLOW, .reason = "bad_argument"};
	call->outcome = (struct outcome){.kind = OUTCOME_ERROR, .value = -ENOSYS, .fd = -1};
	call->record_was_written = false;
	if (decode_call_args(call) < 0 || !call_thread_still_waits(call))
		judged_die("decode", EINVAL);
	table_get_handler(call->row)(call);
	if (call_commit_record(call) < 0)
		judged_die("record", EIO);
	result = call->outcome.kind == OUTCOME_FD ? 3 : call->outcome.value;
	audit_end_record(run->sandbox.audit, call->outcome_location, result, 12345);
	if (call->outcome.kind == OUTCOME_FD)
		(void)close(call->outcome.fd);
	return result;
}

/*
 * A function of its own for each case, which callgrind tells the cost of; no optimisation may see that they are alike.
 */
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
	size_t at = (size_t)snprintf(out, LONG_PATH, "%s/usr", judged_top), end = name_len > 1 ? LONG_PATH : at + 200;

	while (at + 1 < end) {
		out[at++] = '/';
		for (size_t i = 0; i < name_len && at + 1 < end; i++)
			out[at++] = 'd';
	}
	out[at] = '\0';
}

static void run_case(struct run *run, const struct bench_case *one, int directory)
{
	uint64_t arg[6] = {
		(uint64_t)(int64_t)(one->dirfd == AT_FDCWD ? AT_FDCWD : directory), JUDGED_MEMORY, 0x20000, 0, 0, 0};

	if (one->number == SYS_openat)
		arg[2] = O_RDONLY | O_CLOEXEC;
	if (!one->path)
		make_path(judged_memory, one->measure == measure_long ? 200 : 1);
	else if (one->dirfd == AT_FDCWD)
		(void)snprintf(judged_memory, sizeof(judged_memory), "%s/%s", judged_top, one->path);
	else
		(void)snprintf(judged_memory, sizeof(judged_memory), "%s", one->path);
	/* Once without being counted: what is found out once is. */
	if (judge(run, one->number, arg) != one->wanted)
		judged_die(judged_memory, EDOM);
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
	judged_make_tree();
	grants = judged_many_grants();
	run = start(judged_policy, "scratch");
	many = start(grants, "scratch/many");
	(void)snprintf(path, sizeof(path), "%s/usr/lib/package", judged_top);
	directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		run_case(cases[i].many ? many : run, &cases[i], directory);
	printf("%u calls of each case\n", ROUNDS);
	free(grants);
	return io_remove_tree(AT_FDCWD, judged_top) < 0;
}
