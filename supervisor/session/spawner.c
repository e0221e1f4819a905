#include "supervisor/session/spawner.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fdpass.h"
#include "supervisor/session/scrub.h"

/* arguments and variables of a program: each has a byte and a NUL */
#define SPAWNER_POINTERS_MAX (SPAWNER_TEXT_BYTES_MAX / 2)

/* A program that is being started: pointers into the request. */
struct spawner_program {
	const char *directory, *path;
	char **argv, **envp;
	int stdio_fd[3]; /* its stdin, stdout and stderr */
};

/* Static, because a forked child must not allocate; untouched pages take no memory. */
static struct spawner_request spawner_request;
static char *spawner_pointer[SPAWNER_POINTERS_MAX + 4];

/* A message is shorter than PIPE_BUF and the supervisor always reads. A failure means that the supervisor is dead. */
static void spawner_send(int socket_fd, const struct spawner_message *message)
{
	while (write(socket_fd, message, sizeof(*message)) < 0 && errno == EINTR)
		;
}

/* ---- the program, until its exec ---- */

/* Notes the step that failed, with errno, for the monitor, and exits. */
static _Noreturn void program_fail(struct spawner_page *page, uint32_t slot, enum spawner_step step)
{
	page->slot[slot].step = step;
	page->slot[slot].error = errno;
	_exit(127);
}

/* Waits until the supervisor knows the process: its first judged call must be on record as this program's. */
static void program_await_permission(struct spawner_page *page, const struct spawner_request *request)
{
	_Atomic uint32_t *go = &page->slot[request->slot].go;
	uint32_t now;

	while ((now = atomic_load(go)) != request->program_number)
		(void)syscall(SYS_futex, go, FUTEX_WAIT, now, NULL, NULL, 0);
}

/* Moves the program's stdin, stdout and stderr to 0 to 2, and closes all other descriptors. */
static int program_keep_only_stdio(const int stdio_fd[3])
{
	/* All of stdio_fd are above 2, since the spawner's descriptors 0 to 2 are open: no dup2(2) here closes one. */
	for (int i = 0; i < 3; i++)
		if (dup2(stdio_fd[i], i) < 0)
			return -1;
	return (int)syscall(SYS_close_range, 3U, ~0U, 0U);
}

/* Unmaps all slots but the program's own. */
static int program_keep_only_slot(struct spawner_page *page, uint32_t slot)
{
	if (slot > 0 && munmap(&page->slot[0], slot * sizeof(page->slot[0])) < 0)
		return -1;
	return slot + 1 < SPAWNER_PROGRAMS_MAX
		       ? munmap(&page->slot[slot + 1], (SPAWNER_PROGRAMS_MAX - slot - 1) * sizeof(page->slot[0]))
		       : 0;
}

static _Noreturn void program_exec(struct spawner_page *page, const struct spawner_request *request,
				   const struct spawner_program *program, pid_t monitor)
{
	/* When the monitor is killed, so is the program. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || getppid() != monitor)
		program_fail(page, request->slot, SPAWNER_PREPARE);
	program_await_permission(page, request);
	if (setsid() < 0 || program_keep_only_slot(page, request->slot) < 0 ||
	    program_keep_only_stdio(program->stdio_fd) < 0 ||
	    (request->has_terminal && ioctl(0, TIOCSCTTY, 0) < 0))
		program_fail(page, request->slot, SPAWNER_PREPARE);
	/* The supervisor reads the arguments of chdir(2) and execve(2) by process_vm_readv(2). */
	if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0)
		program_fail(page, request->slot, SPAWNER_PREPARE);
	if (program->directory[0] && chdir(program->directory) < 0)
		program_fail(page, request->slot, SPAWNER_CHDIR);
	(void)execve(program->path, program->argv, program->envp);
	program_fail(page, request->slot, SPAWNER_EXEC);
}

/* ---- the monitor process of a program ---- */

static uint64_t monitor_get_cpu_us(const struct rusage *usage)
{
	return (uint64_t)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1000000u +
	       (uint64_t)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec);
}

/* Reaps the program and its descendants. Exits when none is left; otherwise the supervisor kills this process. */
static _Noreturn void monitor_reap(int socket_fd, uint32_t number, pid_t program)
{
	struct rusage usage;
	int status;
	pid_t pid;

	for (;;) {
		pid = wait4(-1, &status, 0, &usage);
		if (pid < 0 && errno == EINTR)
			continue;
		if (pid < 0)
			_exit(0);
		if (pid == program) {
			siginfo_t info;
			const struct spawner_message message = {
				.program_number = number, .event = SPAWNER_ENDED, .wait_status_or_errno = status,
				.has_descendants = waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0,
				.cpu_us = monitor_get_cpu_us(&usage), .max_rss_kb = (uint64_t)usage.ru_maxrss};

			spawner_send(socket_fd, &message);
		}
	}
}

/* The monitor's main function: starts the program, reaps it and all its descendants. */
static _Noreturn void monitor_run(struct spawner_page *page, int socket_fd, const struct spawner_request *request,
				  const struct spawner_program *program, pid_t supervisor)
{
	struct spawner_message message = {.program_number = request->program_number, .event = SPAWNER_FAILED};
	pid_t monitor = (pid_t)syscall(SYS_getpid), pid;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || getppid() != supervisor ||
	    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0) {
		message.wait_status_or_errno = errno;
		spawner_send(socket_fd, &message);
		_exit(1);
	}
	pid = (pid_t)syscall(SYS_clone, (unsigned long)SIGCHLD, 0L, 0L, 0L, 0L);
	if (pid == 0)
		program_exec(page, request, program, monitor);
	message.wait_status_or_errno = errno;
	for (int i = 0; i < 3; i++)
		(void)close(program->stdio_fd[i]);
	if (pid > 0)
		message = (struct spawner_message){.program_number = request->program_number, .event = SPAWNER_STARTED,
						   .monitor_pid = monitor, .pid = pid};
	spawner_send(socket_fd, &message);
	if (pid < 0)
		_exit(1);
	monitor_reap(socket_fd, request->program_number, pid);
}

/* ---- the spawner process ---- */

/* Receives a request. Returns its length in bytes; 0: the session ends, because the supervisor has closed its end. */
static size_t spawner_receive(int socket_fd, struct spawner_request *request, int stdio_fd[3])
{
	ssize_t got = fdpass_receive(socket_fd, request, sizeof(*request), stdio_fd, 3, 0);

	return got > 0 && stdio_fd[2] >= 0 ? (size_t)got : 0;
}

/* Sets a list of pointers to the next `count` texts. Returns the text behind them. */
static char *spawner_make_text_pointers(char *text, uint32_t count, char ***list, size_t *used)
{
	*list = &spawner_pointer[*used];
	for (uint32_t i = 0; i < count; i++) {
		spawner_pointer[(*used)++] = text;
		text += strlen(text) + 1;
	}
	spawner_pointer[(*used)++] = NULL;
	return text;
}

/* Unpacks a request of the supervisor, which programs.c has made: only sizes that would overflow are checked. */
static int spawner_unpack_request(struct spawner_request *request, size_t bytes, struct spawner_program *program)
{
	const size_t head = offsetof(struct spawner_request, text);
	size_t used = 0, texts = 0;
	char *text = request->text;

	if (bytes <= head || request->slot >= SPAWNER_PROGRAMS_MAX || request->text[bytes - head - 1] != '\0')
		return -1;
	for (size_t i = 0; i < bytes - head; i++)
		texts += request->text[i] == '\0';
	if (texts != 2ul + request->arguments + request->variables || texts > SPAWNER_POINTERS_MAX)
		return -1;
	program->directory = text;
	text += strlen(text) + 1;
	program->path = text;
	text += strlen(text) + 1;
	text = spawner_make_text_pointers(text, request->arguments, &program->argv, &used);
	(void)spawner_make_text_pointers(text, request->variables, &program->envp, &used);
	return 0;
}

/* Forks the monitor of a program. */
static void spawner_start_program(struct spawner_page *page, int socket_fd, const struct spawner_request *request,
				  const struct spawner_program *program, pid_t supervisor)
{
	/* CLONE_PARENT: the monitor is the supervisor's child, which is told of its end. */
	long pid = syscall(SYS_clone, (unsigned long)(CLONE_PARENT | SIGCHLD), 0L, 0L, 0L, 0L);

	if (pid == 0)
		monitor_run(page, socket_fd, request, program, supervisor);
	if (pid < 0) {
		const struct spawner_message message = {.program_number = request->program_number,
							.event = SPAWNER_FAILED,
							.wait_status_or_errno = errno};

		spawner_send(socket_fd, &message);
	}
}

static _Noreturn void __attribute__((noinline)) spawner_serve(struct spawner_page *page, int socket_fd)
{
	struct spawner_request *request = &spawner_request;
	const pid_t supervisor = getppid();
	struct spawner_program program;
	size_t bytes;

	scrub_memory(page);
	while ((bytes = spawner_receive(socket_fd, request, program.stdio_fd)) > 0) {
		if (spawner_unpack_request(request, bytes, &program) < 0)
			_exit(1); /* cannot happen: the supervisor makes the requests */
		spawner_start_program(page, socket_fd, request, &program, supervisor);
		for (int i = 0; i < 3; i++)
			(void)close(program.stdio_fd[i]);
	}
	_exit(0);
}

_Noreturn void spawner_run(struct spawner_page *page, int socket_fd)
{
	/* scrub_memory() keeps this part of the stack: it is an empty array here, and not variables of callers. */
	char above[SCRUB_STACK_KEPT_BYTES];

	explicit_bzero(above, sizeof(above));
	spawner_serve(page, socket_fd);
}
