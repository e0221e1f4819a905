/* The tracer on real processes: events, restarted calls, kills. The targets execute the test program itself. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "supervisor/trace/private.h"
#include "tests/unit/old-kernel.h"
#include "tests/unit/sanitized.h"
#include "tests/unit/supervisor/trace-rig.h"
#include "tests/unit/unit.h"

static struct rig rig;
static char *const no_env[] = {NULL};

/* ---- the program that targets execute: "self MODE ..." ---- */

static int play(int argc, char **argv)
{
	if (strcmp(argv[1], "exit") == 0 && argc == 3)
		return (int)strtol(argv[2], NULL, 10);
	if (strcmp(argv[1], "execfn") == 0 && argc == 3) /* AT_EXECFN */
		return strcmp((const char *)getauxval(AT_EXECFN), argv[2]) == 0 ? 0 : 50;
	if (strcmp(argv[1], "script") == 0) /* as the interpreter of "#!/virt/self script" */
		return argc == 5 && strcmp(argv[0], "/virt/self") == 0 && strcmp(argv[2], "/virt/run") == 0 &&
		       strcmp(argv[3], "one") == 0 && strcmp(argv[4], "two words") == 0 ? 0 : 51;
	return 52;
}

/*
 * Whether a repetition goes on that began at begin_ns: on a slow machine (an emulated one, say) it ends early, but not
 * before the 20th time.
 */
static bool has_time(uint64_t begin_ns, int times)
{
	return times < 20 || io_read_clock_ns() - begin_ns < UINT64_C(60000000000);
}

#define CHECK(condition) do { if (!(condition)) _exit((__LINE__ % 200) + 1); } while (0)

/* ---- exec ---- */

static void target_exec(void)
{
	char *argv[] = {rig.self, "exit", "7", NULL};

	(void)execve(rig.self, argv, no_env);
	_exit(1);
}

static void expect(void (*guest)(void), int status)
{
	rig_run(&rig, guest);
	ck_assert(!rig.timed_out);
	ck_assert_uint_eq(rig.pending, 0);
	ck_assert_int_eq(rig.status, status);
	ck_assert_uint_eq(rig.denials, status == SIGKILL);
}

START_TEST(exec_runs)
{
	if (_i == 1)
		be_old();
	else if (_i == 2)
		be_before_5_19();
	expect(target_exec, 7 << 8);
}
END_TEST

static void target_absent(void)
{
	char *argv[] = {"x", NULL};

	for (int i = 0; i < 100; i++) {
		CHECK(execve("/nonexistent/x", argv, no_env) == -1 && errno == ENOENT);
		CHECK(syscall(SYS_execveat, AT_FDCWD, "/nonexistent/x", argv, no_env, 0) == -1 && errno == ENOENT);
	}
}

START_TEST(exec_fails_natively)
{
	if (_i)
		be_before_5_19();
	expect(target_absent, 0);
}
END_TEST

static void other_image(struct exec_plan *plan)
{
	plan->image.ino++;
}

static void other_loader(struct exec_plan *plan)
{
	plan->loader_image.maps_ino++;
}

static void no_loader(struct exec_plan *plan)
{
	plan->has_loader = false;
}

/* The approved program is a loader run by itself. It runs, but as the loader of another program. */
static void loader_alone(struct exec_plan *plan)
{
	plan->image.dev = plan->loader_image.dev;
	plan->image.ino = plan->loader_image.ino;
}

static void other_name(struct exec_plan *plan)
{
	plan->execfn[0] = '.';
}

/* The name that the kernel used ends like the approved one. */
static void shorter_name(struct exec_plan *plan)
{
	char *name = strdup(strrchr(plan->execfn, '/'));

	free(plan->execfn);
	plan->execfn = name;
}

static void longer_name(struct exec_plan *plan)
{
	char *name = NULL;

	ck_assert_int_gt(asprintf(&name, "x%s", plan->execfn), 0);
	free(plan->execfn);
	plan->execfn = name;
}

START_TEST(exec_mismatch_kills)
{
	static void (*const tampers[])(struct exec_plan *) = {other_image, other_loader, no_loader, loader_alone,
							      other_name, shorter_name, longer_name};

	rig.tamper = tampers[_i / 2];
	if (_i % 2)
		be_old();
	expect(target_exec, SIGKILL);
}
END_TEST

/* ---- the name proves the files: the look into /proc would find another file, and kill ---- */

static void name_proves(struct exec_plan *plan)
{
	plan->path_proves_loaded_files = true;
	other_image(plan);
}

START_TEST(exec_is_verified_by_name)
{
	rig.tamper = name_proves;
	if (_i)
		be_old();
	expect(target_exec, 7 << 8);
}
END_TEST

static void name_proves_other_name(struct exec_plan *plan)
{
	name_proves(plan);
	other_name(plan);
}

static void name_proves_longer_name(struct exec_plan *plan)
{
	name_proves(plan);
	longer_name(plan);
}

static void name_proves_shorter_name(struct exec_plan *plan)
{
	name_proves(plan);
	plan->execfn[strlen(plan->execfn) - 1] = '\0';
}

static void name_proves_no_loader(struct exec_plan *plan)
{
	name_proves(plan);
	no_loader(plan);
}

static void name_proves_other_entry_of_loader(struct exec_plan *plan)
{
	name_proves(plan);
	plan->loader_entry_offset++;
}

static void name_proves_other_entry(struct exec_plan *plan)
{
	name_proves(plan);
	plan->layout.entry_minus_phdr++;
}

static void name_proves_other_headers(struct exec_plan *plan)
{
	name_proves(plan);
	plan->layout.phdr_count++;
}

START_TEST(other_name_or_layout_kills)
{
	static void (*const tampers[])(struct exec_plan *) = {
		name_proves_other_name,    name_proves_longer_name,           name_proves_shorter_name,
		name_proves_no_loader,     name_proves_other_entry_of_loader, name_proves_other_entry,
		name_proves_other_headers,
	};

	rig.tamper = tampers[_i];
	expect(target_exec, SIGKILL);
}
END_TEST

/* Another process may have written the name that is compared. */
START_TEST(name_proves_nothing_in_writable_memory)
{
	rig.tamper = name_proves;
	rig.memory_may_be_written = true;
	expect(target_exec, SIGKILL);
}
END_TEST

static void target_exec_with_large_environment(void)
{
	char *argv[] = {rig.self, "exit", "7", NULL}, *env[1001];

	for (size_t i = 0; i < 1000; i++)
		env[i] = "A=B";
	env[1000] = NULL;
	(void)execve(rig.self, argv, env);
	_exit(1);
}

/* Then the auxiliary vector is not in the part of the stack that is read, and the other checks decide. */
START_TEST(large_environments_are_verified_otherwise)
{
	rig.tamper = _i ? name_proves : NULL;
	expect(target_exec_with_large_environment, _i ? SIGKILL : 7 << 8);
}
END_TEST

/* ---- exec from a thread that does not lead (threat 4) ---- */

static void *thread_exec(void *arg)
{
	(void)arg;
	target_exec();
	return NULL;
}

static void *thread_chdir(void *arg)
{
	(void)arg;
	while (chdir("/virt/dir") == 0 || errno != EDOM) /* forever: chdir never returns EDOM */
		;
	return NULL;
}

static void exec_in_thread(bool busy_leader)
{
	pthread_t one, two;

	CHECK(pthread_create(&one, NULL, thread_chdir, NULL) == 0);
	CHECK(pthread_create(&two, NULL, thread_exec, NULL) == 0);
	if (busy_leader)
		(void)thread_chdir(NULL);
	(void)pause();
}

static void target_threads(void)
{
	const uint64_t begin_ns = io_read_clock_ns();

	for (int i = 0; i < (SANITIZED ? 100 : few_of(1000)) && has_time(begin_ns, i); i++) {
		pid_t pid = fork();
		int status;

		CHECK(pid >= 0);
		if (pid == 0)
			exec_in_thread(i % 2);
		CHECK(waitpid(pid, &status, 0) == pid);
		CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
	}
}

START_TEST(exec_from_threads)
{
	expect(target_threads, 0);
}
END_TEST

/* ---- a thread sends its descriptor while another thread's exec fails ---- */

static void *fail_exec(void *stop)
{
	char *argv[] = {"x", NULL};

	while (!*(volatile int *)stop)
		(void)execve("/nonexistent/x", argv, no_env);
	return NULL;
}

static void target_fetch(void)
{
	int fd = open(rig.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	volatile int stop = 0;
	pthread_t thread;

	CHECK(fd >= 0 && pthread_create(&thread, NULL, fail_exec, (void *)(uintptr_t)&stop) == 0);
	for (int i = 0; i < 1000; i++) {
		CHECK(fchmod(fd, i % 2 ? 0700 : 0755) == 0);
		CHECK(fchmod(900, 0700) == -1 && errno == EBADF);
	}
	stop = 1;
	CHECK(pthread_join(thread, NULL) == 0);
	CHECK(open("/", O_RDONLY | O_CLOEXEC) == fd + 1); /* no carrier is left */
}

START_TEST(fetch_beside_failing_execs)
{
	expect(target_fetch, 0);
	ck_assert_uint_eq(rig.fetched, 2000);
}
END_TEST

/* ---- vfork and posix_spawn ---- */

static pid_t vfork_exec(char *const *argv)
{
	pid_t pid = vfork();

	if (pid == 0) {
		(void)execve(argv[0], argv, no_env);
		_exit(1);
	}
	return pid;
}

static void target_spawn(void)
{
	char *plain[] = {rig.self, "exit", "7", NULL};
	char *restarted[] = {"/virt/self", "exit", "8", NULL};

	for (int i = 0; i < (SANITIZED ? 60 : few_of(300)); i++) {
		char **argv = i % 2 ? plain : restarted;
		int status;
		pid_t pid;

		CHECK(posix_spawn(&pid, argv[0], NULL, NULL, argv, no_env) == 0);
		CHECK(waitpid(pid, &status, 0) == pid);
		CHECK(status == (i % 2 ? 7 << 8 : 8 << 8));
		pid = vfork_exec(argv);
		CHECK(waitpid(pid, &status, 0) == pid);
		CHECK(status == (i % 2 ? 7 << 8 : 8 << 8));
	}
}

START_TEST(exec_from_vfork)
{
	expect(target_spawn, 0);
}
END_TEST

/* ---- restarted execs ---- */

static void target_restart(void)
{
	char *argv[] = {"renamed", "execfn", "/virt/.//self", NULL};

	(void)execve("/virt/.//self", argv, no_env);
	_exit(1);
}

static void target_restart_at(void)
{
	char *argv[] = {"renamed", "execfn", "/virt/self", NULL};

	(void)syscall(SYS_execveat, AT_FDCWD, "/virt/self", argv, no_env, 0);
	_exit(1);
}

static void target_script(void)
{
	char *argv[] = {"run", "one", "two words", NULL};

	(void)execve("/virt/run", argv, no_env);
	_exit(1);
}

START_TEST(restart_names_the_virtual_path)
{
	if (_i / 2)
		be_before_5_19();
	expect(_i % 2 ? target_restart_at : target_restart, 0);
	ck_assert_uint_ge(rig.restarts, 1); /* an older kernel restarts the call once more */
}
END_TEST

START_TEST(restart_builds_script_arguments)
{
	if (_i)
		be_before_5_19();
	rig_write(&rig, "run", "#!/virt/self script\n", 0755);
	expect(target_script, 0);
}
END_TEST

/* Makes a call while the stack pointer is `stack`. */
#if defined(__x86_64__)
static long call_on_stack(long nr, char *stack, const void *a, const void *b, const void *c)
{
	long result;

	__asm__ volatile("mov %%rsp, %%r12\n\tmov %2, %%rsp\n\tsyscall\n\tmov %%r12, %%rsp"
			 : "=a"(result)
			 : "a"(nr), "r"(stack), "D"(a), "S"(b), "d"(c)
			 : "rcx", "r11", "r12", "memory");
	return result;
}
#elif defined(__aarch64__)
static long call_on_stack(long nr, char *stack, const void *a, const void *b, const void *c)
{
	register long x8 __asm__("x8") = nr, x0 __asm__("x0") = (long)a;
	register const void *x1 __asm__("x1") = b, *x2 __asm__("x2") = c;

	__asm__ volatile("mov x9, sp\n\tmov sp, %1\n\tsvc #0\n\tmov sp, x9"
			 : "+r"(x0)
			 : "r"(stack), "r"(x8), "r"(x1), "r"(x2)
			 : "x9", "memory");
	return x0;
}
#endif

/* Nothing may be written below this stack: the call must fail, and no memory of the program may change. */
static void target_bad_stack(void)
{
	char *page = mmap(NULL, 3 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *stack = page + 4096;
	char *argv[] = {"/virt/self", "exit", "8", NULL};

	CHECK(page != MAP_FAILED && mprotect(stack, 4096, PROT_READ | PROT_WRITE) == 0);
	CHECK(call_on_stack(SYS_execve, stack, argv[0], argv, no_env) == -ENOMEM);
	CHECK(call_on_stack(SYS_chdir, stack, "/virt/dir", NULL, NULL) == 0); /* which needs none */
	CHECK(chdir("/virt/dir") == 0);
}

START_TEST(restart_without_stack_fails)
{
	expect(target_bad_stack, 0);
}
END_TEST

/* Below the mapped part of the main stack, which has to grow for the blob. */
static void target_deep_stack(void)
{
	char *argv[] = {"/virt/self", "exit", "7", NULL};
	unsigned long start = (unsigned long)__builtin_frame_address(0);
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned long low = 0, from, to;
	char line[512];

	CHECK(maps);
	while (fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx", &from, &to) == 2 && start >= from && start < to)
			low = from;
	CHECK(low);
	(void)call_on_stack(SYS_execve, (char *)low + 64, argv[0], argv, no_env);
	_exit(1); /* it is not another program */
}

START_TEST(restart_grows_the_stack)
{
	expect(target_deep_stack, 7 << 8);
}
END_TEST

/* ---- chdir ---- */

static void check_cwd(void)
{
	char cwd[4096], want[128];

	(void)snprintf(want, sizeof(want), "%s/dir", rig.dir);
	CHECK(getcwd(cwd, sizeof(cwd)) && strcmp(cwd, want) == 0);
}

static void target_chdir(void)
{
	CHECK(chdir("/virt/dir") == 0);
	check_cwd();
	CHECK(chdir("/virt/absent") == -1 && errno == ENOENT);
	CHECK(chdir("/") == 0);
#if defined(__x86_64__)
	register long r10 __asm__("r10") = 10, r8 __asm__("r8") = 8, r9 __asm__("r9") = 9;
	const char *path = "/virt/dir", *kept = path;
	long result, rsi = 1, rdx = 2;

	/* Compilers rely on a system call leaving its argument registers alone. */
	__asm__ volatile("syscall" : "=a"(result), "+D"(kept), "+S"(rsi), "+d"(rdx), "+r"(r10), "+r"(r8), "+r"(r9)
			 : "a"((long)SYS_chdir) : "rcx", "r11", "memory");
	CHECK(result == 0 && kept == path && rsi == 1 && rdx == 2 && r10 == 10 && r8 == 8 && r9 == 9);
#elif defined(__aarch64__)
	register long x8 __asm__("x8") = SYS_chdir, x0 __asm__("x0") = (long)"/virt/dir";
	register long x1 __asm__("x1") = 1, x2 __asm__("x2") = 2, x3 __asm__("x3") = 3;
	register long x4 __asm__("x4") = 4, x5 __asm__("x5") = 5;

	__asm__ volatile("svc #0" : "+r"(x0), "+r"(x1), "+r"(x2), "+r"(x3), "+r"(x4), "+r"(x5), "+r"(x8) : : "memory");
	CHECK(x0 == 0 && x1 == 1 && x2 == 2 && x3 == 3 && x4 == 4 && x5 == 5 && x8 == SYS_chdir);
#endif
	check_cwd();
	CHECK(chdir("/") == 0);
	/* The kernel takes the number as an int. */
	CHECK(syscall((1L << 32) | SYS_chdir, "/virt/dir") == 0);
	check_cwd();
}

START_TEST(chdir_goes_by_descriptor)
{
	if (_i)
		be_before_5_19();
	expect(target_chdir, 0);
}
END_TEST

/* ---- signals ---- */

static volatile sig_atomic_t alarms;

static void on_alarm(int signal)
{
	char *argv[] = {"x", NULL};
	char clobber[2048];
	int saved = errno;

	(void)signal;
	alarms++;
	memset(clobber, 0x5a, sizeof(clobber)); /* over the place where the blob lies */
	__asm__ volatile("" : : "r"(clobber) : "memory");
	if (alarms % 3 == 0)
		(void)execve("/nonexistent/x", argv, no_env);
	errno = saved;
}

/* The program goes on only if a signal does not come before the handler of the last one has made its call. */
static long measure_call_us(void)
{
	uint64_t least_ns = UINT64_C(1000000000);

	for (int i = 0; i < 20; i++) {
		uint64_t begin_ns = io_read_clock_ns(), ns;

		CHECK(chdir("/virt/dir") == 0);
		ns = io_read_clock_ns() - begin_ns;
		least_ns = ns < least_ns ? ns : least_ns;
	}
	return (long)(least_ns / 1000);
}

static void storm(bool restart)
{
	struct sigaction action = {.sa_handler = on_alarm, .sa_flags = restart ? SA_RESTART : 0};
	long us = measure_call_us() / 2;
	struct itimerval timer;

	us = us < 200 ? 200 : us;
	timer = (struct itimerval){{0, us}, {0, us}};
	CHECK(sigaction(SIGALRM, &action, NULL) == 0 && setitimer(ITIMER_REAL, &timer, NULL) == 0);
}

static void target_storm(void)
{
	const uint64_t begin_ns = io_read_clock_ns();

	storm(true);
	for (int i = 0; i < 2000 && has_time(begin_ns, i); i++)
		CHECK(chdir("/virt/dir") == 0 && chdir("/virt/absent") == -1 && errno == ENOENT);
	CHECK(alarms > 10);
}

START_TEST(chdir_under_signals)
{
	expect(target_storm, 0);
}
END_TEST

static void target_stopped(void)
{
	pid_t pid = fork();
	int status;

	CHECK(pid >= 0);
	if (pid == 0) {
		for (int i = 0; i < 500; i++)
			CHECK(chdir("/virt/dir") == 0);
		target_exec();
	}
	for (int i = 0; i < 50; i++) {
		(void)usleep(500);
		(void)kill(pid, i % 2 ? SIGSTOP : SIGTSTP);
		(void)usleep(500);
		(void)kill(pid, SIGCONT);
	}
	CHECK(waitpid(pid, &status, 0) == pid && status == 7 << 8);
}

/* A SIGSTOP that is delivered late may come after the SIGCONT that should end it, and stay. */
static void target_continued(void)
{
	volatile int *calls = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	const uint64_t begin_ns = io_read_clock_ns();
	pid_t pid;
	int status;

	CHECK(calls != MAP_FAILED && (pid = fork()) >= 0);
	while (pid == 0) {
		CHECK(chdir("/virt/dir") == 0);
		(*calls)++;
	}
	for (int i = 0; i < 3000 && has_time(begin_ns, i); i++) {
		int before, waits = 0;

		(void)kill(pid, SIGSTOP);
		for (int spin = 0; spin < i % 64; spin++)
			(void)getppid();
		(void)kill(pid, SIGCONT);
		before = *calls;
		while (*calls - before < 2 && waits++ < 10000)
			(void)usleep(100);
		CHECK(*calls - before >= 2);
	}
	CHECK(kill(pid, SIGKILL) == 0 && waitpid(pid, &status, 0) == pid);
}

START_TEST(stops_end_by_sigcont)
{
	expect(target_continued, 0);
}
END_TEST

START_TEST(job_control_stops)
{
	expect(target_stopped, 0);
}
END_TEST

static void target_killed(void)
{
	char *restarted[] = {"/virt/self", "exit", "8", NULL};

	for (int i = 0; i < 400; i++) {
		pid_t pid = fork();
		int status;

		CHECK(pid >= 0);
		if (pid == 0) {
			if (i % 4 == 0)
				exec_in_thread(true);
			if (i % 2)
				target_exec();
			(void)execve(restarted[0], restarted, no_env);
			_exit(1);
		}
		(void)usleep((useconds_t)(i % 40) * 20);
		(void)kill(pid, SIGKILL);
		CHECK(waitpid(pid, &status, 0) == pid);
	}
}

START_TEST(kill_storm_leaves_nothing)
{
	expect(target_killed, 0);
}
END_TEST

static void setup(void)
{
	rig_setup(&rig);
}

static void teardown(void)
{
	rig_teardown(&rig);
}

/* ---- which restarted calls are continued ---- */

/* Made by hand, because no handler makes one for a row with BASIS_MEMORY. */
static bool comes_again_as(const struct syscall_row *row, bool planned)
{
	struct sandbox sandbox = {.audit = NULL};
	struct pending *pending = calloc(1, sizeof(*pending));
	struct tracer *tracer;
	bool rerun;

	ck_assert_ptr_nonnull(pending);
	ck_assert_int_eq(tracer_create(&sandbox, &tracer), 0);
	pending->tid = INT_MAX; /* no thread has it */
	pending->state = PENDING_RESTARTED;
	pending->interrupt_would_end_response_wait = true;
	pending->row = row;
	pending->supervisor_carrier_end_fd = pending->fetched_fd = -1;
	pending->plan = planned ? calloc(1, sizeof(*pending->plan)) : NULL;
	tracer->pending = pending;
	rerun = trace_is_restarted_exec(tracer, INT_MAX, row->nr, (const __u64[6]){0});
	tracer_free(tracer);
	return rerun;
}

START_TEST(only_exec_is_left_to_the_kernel)
{
	static const struct {
		enum row_basis basis;
		bool planned, may;
	} expected[] = {
		{BASIS_EXEC, true, true},     {BASIS_EXEC, false, false},  {BASIS_MOUNTNS, false, false},
		{BASIS_MEMORY, false, false}, {BASIS_MEMORY, true, false}, {BASIS_NETNS, false, false},
		{BASIS_REGS, false, false},
	};

	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		const struct syscall_row row = {.nr = 1, .basis = expected[i].basis};

		ck_assert_int_eq(comes_again_as(&row, expected[i].planned), expected[i].may);
	}
}
END_TEST

int main(int argc, char **argv)
{
	Suite *suite;
	TCase *tcase;

	if (argc > 1)
		return play(argc, argv);
	suite = suite_create("trace");
	tcase = tcase_create("trace");
	tcase_set_timeout(tcase, 180);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(tcase, exec_runs, 0, 3);
	tcase_add_loop_test(tcase, exec_fails_natively, 0, 2);
	tcase_add_loop_test(tcase, exec_mismatch_kills, 0, 14);
	tcase_add_loop_test(tcase, exec_is_verified_by_name, 0, 2);
	tcase_add_loop_test(tcase, other_name_or_layout_kills, 0, 7);
	tcase_add_test(tcase, name_proves_nothing_in_writable_memory);
	tcase_add_loop_test(tcase, large_environments_are_verified_otherwise, 0, 2);
	tcase_add_test(tcase, exec_from_threads);
	tcase_add_test(tcase, fetch_beside_failing_execs);
	tcase_add_test(tcase, exec_from_vfork);
	tcase_add_loop_test(tcase, restart_names_the_virtual_path, 0, 4);
	tcase_add_loop_test(tcase, restart_builds_script_arguments, 0, 2);
	tcase_add_test(tcase, restart_without_stack_fails);
	tcase_add_test(tcase, restart_grows_the_stack);
	tcase_add_loop_test(tcase, chdir_goes_by_descriptor, 0, 2);
	tcase_add_test(tcase, chdir_under_signals);
	tcase_add_test(tcase, job_control_stops);
	tcase_add_test(tcase, only_exec_is_left_to_the_kernel);
	tcase_add_test(tcase, stops_end_by_sigcont);
	tcase_add_test(tcase, kill_storm_leaves_nothing);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
