/*
 * What a program can do to the supervisor while that injects a system call into it: cases-exec CASE [ARG…]. The
 * output is the same natively.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096u
#define FLAG_TF 0x100ul

static volatile sig_atomic_t traps;

static void on_trap(int number)
{
	(void)number;
	traps++;
}

static void say_cwd(const char *what, long result)
{
	char cwd[4096];

	printf("%s: %ld in %s, %d traps\n", what, result, getcwd(cwd, sizeof(cwd)) ? cwd : "?", (int)traps);
	(void)fflush(stdout);
}

/* ---- chdir DIR: signals, flags and code around the one instruction ---- */

static void traps_blocked(const char *dir)
{
	sigset_t set, before;
	struct sigaction action;
	int r;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGTRAP);
	(void)sigprocmask(SIG_BLOCK, &set, &before);
	r = chdir(dir);
	say_cwd("blocked", r);
	(void)raise(SIGTRAP);
	r = chdir(dir);
	say_cwd("pending", r);
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	(void)sigaction(SIGTRAP, NULL, &action);
	printf("handler %s\n", action.sa_handler == on_trap ? "kept" : "lost");
	say_cwd("unblocked", r);
}

#if defined(__x86_64__)
static void go_back(void)
{
	if (chdir("/") < 0)
		_exit(96);
}

/* mov eax, SYS_chdir; syscall; then what is given. At the end of a page, behind which there is `next`, or nothing. */
static long (*code_at_end(const char *tail, size_t len, bool more, char **ret_page))(const char *)
{
	static const unsigned char head[] = {0xb8, SYS_chdir, 0, 0, 0, 0x0f, 0x05};
	char *page = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *at;

	if (page == MAP_FAILED)
		return NULL;
	at = page + PAGE - sizeof(head);
	memcpy(at, head, sizeof(head));
	if (more)
		memcpy(page + PAGE, tail, len);
	else
		(void)munmap(page + PAGE, PAGE);
	*ret_page = page;
	return (long (*)(const char *))(uintptr_t)at;
}

static void odd_code(const char *dir)
{
	char *page;
	long (*code)(const char *) = code_at_end("\xc3", 1, true, &page);

	say_cwd("end of page", code ? code(dir) : -1);
	go_back();
	code = code_at_end("\xcc\xcc\xc3", 3, true, &page);
	say_cwd("breakpoints behind", code ? code(dir) : -1);
	go_back();
}

static void own_steps(const char *dir)
{
	long result, absent;

	traps = 0;
	__asm__ volatile("pushfq\n\torq %3, (%%rsp)\n\tpopfq\n\tsyscall\n\tnop\n\tpushfq\n\tandq %4, (%%rsp)\n\tpopfq"
			 : "=a"(result) : "a"((long)SYS_chdir), "D"(dir), "i"(FLAG_TF), "i"(~(long)FLAG_TF)
			 : "rcx", "r11", "cc", "memory");
	say_cwd("own steps", result);
	__asm__ volatile("pushfq\n\torq %3, (%%rsp)\n\tpopfq\n\tsyscall\n\tnop\n\tpushfq\n\tandq %4, (%%rsp)\n\tpopfq"
			 : "=a"(absent) : "a"((long)SYS_chdir), "D"("/nothing"), "i"(FLAG_TF), "i"(~(long)FLAG_TF)
			 : "rcx", "r11", "cc", "memory");
	say_cwd("own steps to nothing", absent);
	go_back();
}
#else
static void odd_code(const char *dir)
{
	(void)dir;
}

static void own_steps(const char *dir)
{
	(void)dir;
}
#endif

static void in_vfork(const char *dir)
{
	int status = 0;
	pid_t pid = vfork();

	if (pid == 0) {
		int r = chdir(dir);

		(void)execl("/nonexistent", "x", NULL);
		_exit(r == 0 && errno == ENOENT ? 7 : 8);
	}
	(void)waitpid(pid, &status, 0);
	printf("vfork: %x\n", (unsigned)status);
	say_cwd("parent of it", 0);
}

static int attack_chdir(char **arg)
{
	struct sigaction action = {.sa_handler = on_trap};

	(void)sigaction(SIGTRAP, &action, NULL);
	own_steps(arg[0]);
	traps = 0;
	odd_code(arg[0]);
	traps = 0;
	traps_blocked(arg[0]);
	in_vfork(arg[0]);
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	say_cwd("not dumpable", chdir(arg[0]));
	return 0;
}

/* ---- exec PROGRAM: arguments at the end of memory, from a small signal stack, by vfork, with a dying sibling ---- */

static void run(const char *what, void (*action)(char *), char *program)
{
	int status = 0;
	pid_t pid;

	(void)fflush(stdout);
	pid = fork();
	if (pid == 0) {
		action(program);
		_exit(100 + errno);
	}
	(void)waitpid(pid, &status, 0);
	printf("%s: %x\n", what, (unsigned)status);
}

/* The last bytes in front of an unmapped page. */
static char *edge(const void *bytes, size_t len)
{
	char *page = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		_exit(99);
	(void)munmap(page + PAGE, PAGE);
	return memcpy(page + PAGE - len, bytes, len);
}

static void all_at_edges(char *program)
{
	char *texts[] = {edge("exit", 5), edge("one", 4), NULL};

	(void)execve(edge(program, strlen(program) + 1), (char **)(void *)edge(texts, sizeof(texts)), NULL);
}

static void path_without_end(char *program)
{
	char *argv[] = {"x", NULL};

	(void)execve(edge(program, strlen(program)), argv, NULL);
}

static void argument_without_end(char *program)
{
	char *argv[] = {edge("abc", 3), NULL};

	(void)execve(program, argv, NULL);
}

static void vector_without_end(char *program)
{
	char *argv[] = {"x"};

	(void)execve(program, (char **)(void *)edge(argv, sizeof(argv)), NULL);
}

static void long_argument(char *program)
{
	char *text = malloc(1 << 18);
	char *argv[] = {"x", text, NULL};

	if (text)
		(void)snprintf(text, 1 << 18, "%*s", (1 << 18) - 1, "");
	(void)execve(program, argv, NULL);
}

static char *handler_program;

static void exec_in_handler(int number)
{
	(void)number;
	(void)execl(handler_program, "x", "one", NULL);
	_exit(98);
}

static void small_stack(char *program)
{
	stack_t stack = {.ss_size = (size_t)MINSIGSTKSZ + 2048};
	struct sigaction action = {.sa_handler = exec_in_handler, .sa_flags = SA_ONSTACK};

	stack.ss_sp = malloc(stack.ss_size);
	handler_program = program;
	(void)sigaltstack(&stack, NULL);
	(void)sigaction(SIGUSR1, &action, NULL);
	(void)raise(SIGUSR1);
}

static void *come_and_go(void *arg)
{
	return arg;
}

static void *make_threads(void *arg)
{
	pthread_t thread;

	while (arg)
		if (pthread_create(&thread, NULL, come_and_go, arg) == 0)
			(void)pthread_join(thread, NULL);
	return NULL;
}

static void dying_siblings(char *program)
{
	pthread_t thread;

	for (int i = 0; i < 4; i++)
		(void)pthread_create(&thread, NULL, make_threads, program);
	(void)usleep(1000);
	(void)execl(program, "x", "one", NULL);
}

static void *exec_it(void *arg)
{
	while (arg)
		(void)execl(arg, "x", "one", NULL);
	return NULL;
}

/* All want to, the leader too; each ends the others. */
static void all_at_once(char *program)
{
	pthread_t thread;

	for (int i = 0; i < 6; i++)
		(void)pthread_create(&thread, NULL, exec_it, program);
	(void)exec_it(program);
}

static void *leader_gone_exec(void *arg)
{
	(void)usleep(2000);
	return exec_it(arg);
}

static void leader_gone(char *program)
{
	pthread_t thread;

	(void)pthread_create(&thread, NULL, leader_gone_exec, program);
	pthread_exit(NULL);
}

static void by_vfork(char *program)
{
	int status = 0;
	pid_t pid = vfork();

	if (pid == 0) {
		(void)execl(program, "x", "one", NULL);
		_exit(97);
	}
	(void)waitpid(pid, &status, 0);
	_exit(WEXITSTATUS(status));
}

static int attack_exec(char **arg)
{
	run("edges", all_at_edges, arg[0]);
	run("path without end", path_without_end, arg[0]);
	run("argument without end", argument_without_end, arg[0]);
	run("vector without end", vector_without_end, arg[0]);
	run("long argument", long_argument, arg[0]);
	run("small stack", small_stack, arg[0]);
	run("vfork", by_vfork, arg[0]);
	for (int i = 0; i < 15; i++) {
		run("dying siblings", dying_siblings, arg[0]);
		run("all at once", all_at_once, arg[0]);
		run("leader gone", leader_gone, arg[0]);
	}
	return 0;
}

/*
 * ---- rewrite SCRIPT GOOD BAD: the interpreter of a script is rewritten, and texts on the stack, while it is executed
 * ----
 */

struct flip {
	const char *path;
	char line[2][512];
};

/* While it is open for writing it cannot be executed. */
static void *rewrite(void *arg)
{
	struct flip *flip = arg;
	ssize_t wrote = 1;

	for (unsigned i = 0; wrote > 0; i++) {
		int fd = open(flip->path, O_WRONLY | O_CLOEXEC);

		if (fd < 0)
			continue; /* it is being executed */
		wrote = pwrite(fd, flip->line[i % 2], strlen(flip->line[i % 2]), 0);
		(void)close(fd);
		(void)usleep(i % 16 * 10);
	}
	return NULL;
}

/* Over what the tracer has put below the stack of the thread that executes. */
static char *below_stack;
static const char *bad_path;

static void *scribble(void *arg)
{
	size_t len = strlen(bad_path) + 1;

	while (arg)
		for (size_t at = 0; at < 1024; at++)
			if (below_stack[at] == '/' && memcmp(below_stack + at, bad_path, 4) != 0 && at + len < 1024)
				memcpy(below_stack + at, bad_path, len);
	return NULL;
}

static int attack_rewrite(char **arg)
{
	struct flip flip = {.path = arg[0]};
	unsigned ends[3] = {0};

	(void)snprintf(flip.line[0], sizeof(flip.line[0]), "#!%s\n#%400s\n", arg[1], "");
	(void)snprintf(flip.line[1], sizeof(flip.line[1]), "#!%s\n#%400s\n", arg[2], "");
	bad_path = arg[2];
	for (int i = 0; i < 120; i++) {
		int status = 0;
		pid_t pid = fork();

		if (pid == 0) {
			pthread_t thread;

			below_stack = (char *)__builtin_frame_address(0) - 2048;
			(void)pthread_create(&thread, NULL, i % 2 ? scribble : rewrite, &flip);
			(void)usleep((useconds_t)(i % 7) * 100);
			(void)execl(arg[0], "x", "one", NULL);
			_exit(100);
		}
		(void)waitpid(pid, &status, 0);
		ends[status == 0 ? 0 : WIFSIGNALED(status) ? 1 : 2]++;
	}
	fprintf(stderr, "ran %u, killed %u, failed %u\n", ends[0], ends[1], ends[2]);
	return ends[0] ? 0 : 1;
}

/* ---- code DIR: the instruction that is stepped is changed by another thread ---- */

#if defined(__x86_64__)
static void *change(void *arg)
{
	volatile unsigned short *code = arg;
	static const unsigned short texts[] = {0x050f, 0x9090, 0x050f, 0xcccc, 0x050f, 0x0b0f};

	for (unsigned i = 0;; i++)
		*code = texts[i % 6];
	return NULL;
}

static int attack_code(char **arg)
{
	for (int i = 0; i < 20; i++) {
		pid_t pid = fork();
		int status;

		if (pid == 0) {
			char *page = NULL;
			long (*code)(const char *) = code_at_end("\xc3", 1, true, &page);
			pthread_t thread;

			(void)alarm(5);
			(void)pthread_create(&thread, NULL, change, page + PAGE - 2);
			(void)signal(SIGTRAP, on_trap);
			for (int calls = 0; calls < 200; calls++)
				(void)code(arg[0]);
			_exit(0);
		}
		(void)waitpid(pid, &status, 0);
	}
	say_cwd("code", chdir(arg[0]));
	return 0;
}
#else
static int attack_code(char **arg)
{
	say_cwd("code", chdir(arg[0]));
	return 0;
}
#endif

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(char **arg);
		int args;
	} attacks[] = {{"chdir", attack_chdir, 1}, {"exec", attack_exec, 1},
		       {"rewrite", attack_rewrite, 3}, {"code", attack_code, 1}};

	for (size_t i = 0; i < sizeof(attacks) / sizeof(*attacks); i++)
		if (argc > 1 && !strcmp(argv[1], attacks[i].name) && argc == 2 + attacks[i].args)
			return attacks[i].run(argv + 2);
	return 2;
}
