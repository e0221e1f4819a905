#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/text.h"
#include "cli/batch/batch.h"
#include "cli/cli.h"

#define BATCH_RESULT_BYTES_MAX (UINT64_C(1) << 30) /* most bytes of a run's result that are read */
#define BATCH_MESSAGES_BYTES_MAX (1u << 20)        /* most bytes of a run's messages that are read */

/* Exit status of a run's process that could not become callgate run. The reason is in BATCH_MESSAGES_FILE. */
#define BATCH_STATUS_NOT_STARTED CLI_EXIT_ERROR

/* Ends the run's process with a message. Its standard error is BATCH_MESSAGES_FILE. */
__attribute__((noreturn)) static void batch_fail(const char *what, int error)
{
	(void)text_printf(stderr, "callgate: %s: %s\n", what, strerror(error));
	_exit(BATCH_STATUS_NOT_STARTED);
}

/* In the child: opens a file as descriptor `number`, or ends the child with an error. */
static void batch_redirect_fd(const char *dir, const char *name, int flags, int number)
{
	char path[PATH_MAX];
	int fd;

	if (snprintf(path, sizeof(path), "%s%s%s", dir, *dir ? "/" : "", name) >= (int)sizeof(path))
		batch_fail(name, ENAMETOOLONG);
	fd = open(path, flags | O_CLOEXEC, 0600);
	if (fd < 0 || dup2(fd, number) < 0)
		batch_fail(path, errno);
}

/* Copies a directory by cp(1), which keeps times, modes, links and holes, and shares blocks where it can. */
static void batch_copy_workdir(const char *from, const char *to)
{
	_cleanup_free_ char *contents = text_format("%s/.", from);
	int status = 0;
	pid_t pid = contents ? fork() : -1;

	if (pid < 0)
		batch_fail("copy the working directory", contents ? errno : ENOMEM);
	if (pid == 0) {
		(void)execlp("cp", "cp", "-a", "--reflink=auto", "--", contents, to, (char *)NULL);
		batch_fail("cp", errno);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (status != 0)
		_exit(BATCH_STATUS_NOT_STARTED); /* cp(1) has printed why */
}

static size_t batch_count_texts(const char *const *text)
{
	size_t count = 0;

	while (text[count])
		count++;
	return count;
}

/* Makes the command line of callgate run. */
static const char **batch_make_argv(const struct batch_run *run, const char *workdir, const char *log)
{
	const char *const first[] = {"callgate", "run", "--json", "--quiet", "--audit", log, "-w", workdir, NULL};
	const char *const more[] = {run->stdin_path ? "-i" : "--", run->stdin_path ? "--" : NULL, NULL};
	const char *const *const part[] = {first, run->options, more, run->program};
	size_t count = 0, room = 1;
	const char **argv;

	for (size_t i = 0; i < sizeof(part) / sizeof(part[0]); i++)
		room += batch_count_texts(part[i]);
	argv = calloc(room, sizeof(*argv));
	for (size_t i = 0; argv && i < sizeof(part) / sizeof(part[0]); i++)
		for (const char *const *text = part[i]; *text; text++)
			argv[count++] = *text;
	return argv;
}

__attribute__((noreturn)) static void batch_become_run(const struct batch_run *run)
{
	_cleanup_free_ char *workdir = text_format("%s/" BATCH_WORKDIR, run->dir),
			    *log = text_format("%s/" BATCH_LOG_FILE, run->dir);
	const char **argv = workdir && log ? batch_make_argv(run, workdir, log) : NULL;

	batch_redirect_fd(run->dir, BATCH_MESSAGES_FILE, O_WRONLY | O_CREAT | O_EXCL, STDERR_FILENO);
	batch_redirect_fd(run->dir, BATCH_RESULT_FILE, O_WRONLY | O_CREAT | O_EXCL, STDOUT_FILENO);
	batch_redirect_fd("", run->stdin_path ? run->stdin_path : "/dev/null", O_RDONLY, STDIN_FILENO);
	if (!argv)
		batch_fail("prepare the run", ENOMEM);
	if (mkdir(workdir, 0700) < 0)
		batch_fail(workdir, errno);
	if (run->workdir)
		batch_copy_workdir(run->workdir, workdir);
	(void)execv("/proc/self/exe", (char *const *)(uintptr_t)argv);
	batch_fail("callgate", errno);
}

pid_t batch_start_run(const struct batch_run *run)
{
	pid_t pid = fork();

	if (pid == 0)
		batch_become_run(run);
	return pid < 0 ? -errno : pid;
}

json_t *batch_read_result(const char *dir)
{
	_cleanup_free_ char *path = text_format("%s/" BATCH_RESULT_FILE, dir), *text = NULL;
	size_t len = 0;

	if (!path || io_read_file(AT_FDCWD, path, BATCH_RESULT_BYTES_MAX, &text, &len) < 0)
		return NULL;
	return json_loadb(text, len, JSON_ALLOW_NUL, NULL);
}

void batch_print_messages(const char *verb, const char *dir)
{
	_cleanup_free_ char *path = text_format("%s/" BATCH_MESSAGES_FILE, dir), *text = NULL;
	char *rest = NULL;
	size_t len = 0;

	if (!path || io_read_file(AT_FDCWD, path, BATCH_MESSAGES_BYTES_MAX, &text, &len) < 0 || len == 0)
		cli_print_error(verb, "a run ended without a result and without a message");
	for (char *line = text ? strtok_r(text, "\n", &rest) : NULL; line; line = strtok_r(NULL, "\n", &rest))
		cli_note("%s", line);
}

char *batch_make_temporary_dir(const char *verb)
{
	const char *base = getenv("TMPDIR");
	char *path = text_format("%s/callgate-%s-XXXXXX", base && *base == '/' ? base : "/tmp", verb);

	if (path && mkdtemp(path))
		return path;
	cli_print_error(verb, "cannot make a directory for the runs in %s: %s; set TMPDIR to one that can be written",
			base && *base == '/' ? base : "/tmp", strerror(path ? errno : ENOMEM));
	free(path);
	return NULL;
}
