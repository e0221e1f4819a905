#include "base/helper.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/installed.h"
#include "base/cleanup.h"
#include "base/ending.h"
#include "config.h"

#define HELPER_VARIABLES_MAX 16

static char helper_path[PATH_MAX];
static char helper_error[PATH_MAX + 256];

_Static_assert(sizeof(PACKAGE_VERSION) <= HELPER_VERSION_SIZE, "a version fits");

static int helper_explain_failure(int error, const char **ret_why)
{
	(void)snprintf(helper_error, sizeof(helper_error), "needs %s, which cannot be started: %s", helper_path,
		       strerror(-error));
	*ret_why = helper_error;
	return error;
}

static void helper_add_variables(const char *const *names, char **envp, size_t *count)
{
	for (; *names && *count < HELPER_VARIABLES_MAX; names++) {
		const char *value = getenv(*names);

		if (value && asprintf(&envp[*count], "%s=%s", *names, value) >= 0)
			++*count;
	}
	envp[*count] = NULL; /* asprintf(3) leaves the pointer undefined on failure */
}

static int helper_spawn_process(const char *role, const char *const *variables, int fd, pid_t *ret_pid)
{
	static const char *const tools[] = {"ASAN_OPTIONS", "UBSAN_OPTIONS",     "LSAN_OPTIONS",
					    "GCOV_PREFIX",  "GCOV_PREFIX_STRIP", NULL};
	char *argv[] = {helper_path, strdupa(role), NULL}, *envp[HELPER_VARIABLES_MAX + 1] = {NULL};
	posix_spawn_file_actions_t actions;
	size_t count = 0;
	int error;

	helper_add_variables(variables, envp, &count);
	if (exit_runs_handlers)
		helper_add_variables(tools, envp, &count);
	error = posix_spawn_file_actions_init(&actions);
	if (error == 0) {
		error = posix_spawn_file_actions_adddup2(&actions, fd, HELPER_FD);
		if (error == 0)
			error = posix_spawn(ret_pid, helper_path, &actions, NULL, argv, envp);
		(void)posix_spawn_file_actions_destroy(&actions); /* posix_spawn_file_actions_destroy(3) cannot fail */
	}
	while (count > 0)
		free(envp[--count]);
	return -error;
}

int helper_start(const char *role, const char *const *variables, struct helper *ret_helper, const char **ret_why)
{
	struct helper helper = HELPER_INIT;
	int pair[2], error;

	if (installed_find_file(HELPER_FILE_NAME, helper_path) < 0) {
		(void)snprintf(helper_error, sizeof(helper_error), "cannot go on: " INSTALLED_UNTRUSTED, helper_path);
		*ret_why = helper_error;
		return -EPERM;
	}
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return helper_explain_failure(-errno, ret_why);
	error = helper_spawn_process(role, variables, pair[1], &helper.pid);
	(void)close(pair[1]);
	helper.fd = pair[0];
	if (error < 0) {
		helper.pid = 0;
		helper_stop(&helper);
		return helper_explain_failure(error, ret_why);
	}
	*ret_helper = helper;
	return 0;
}

int helper_await_version(const struct helper *helper, const char **ret_why)
{
	char version[HELPER_VERSION_SIZE];
	ssize_t got = TEMP_FAILURE_RETRY(recv(helper->fd, version, sizeof(version), MSG_TRUNC));

	if (got != sizeof(version) || version[sizeof(version) - 1] != '\0')
		(void)snprintf(helper_error, sizeof(helper_error),
			       "needs %s, which ended at once: it is another program, or lacks a library", helper_path);
	else if (strcmp(version, PACKAGE_VERSION) != 0)
		(void)snprintf(helper_error, sizeof(helper_error),
			       "needs %s, which is of callgate %s, not " PACKAGE_VERSION, helper_path, version);
	else
		return 0;
	*ret_why = helper_error;
	return -ELIBACC;
}

int helper_send_version(void)
{
	static const char version[HELPER_VERSION_SIZE] = PACKAGE_VERSION;

	return send(HELPER_FD, version, sizeof(version), MSG_NOSIGNAL) == sizeof(version) ? 0 : -errno;
}

void helper_stop(struct helper *helper)
{
	cleanup_close(&helper->fd);
	if (helper->pid > 0)
		(void)kill(helper->pid, SIGKILL); /* SIGKILL also ends a stopped helper, which has nothing to save */
	while (helper->pid > 0 && waitpid(helper->pid, NULL, 0) < 0 && errno == EINTR)
		;
	*helper = (struct helper)HELPER_INIT;
}
