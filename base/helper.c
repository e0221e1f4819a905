#include "base/helper.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/installed.h"
#include "base/cleanup.h"
#include "base/ending.h"
#include "base/text.h"
#include "config.h"

static char helper_path[PATH_MAX];
static char helper_error[PATH_MAX + 256];

_Static_assert(sizeof(PACKAGE_VERSION) <= HELPER_VERSION_SIZE, "a version fits");

/* Sets the message of a start of callgate-egress that failed. Returns error. */
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

		if (value && (envp[*count] = text_format("%s=%s", *names, value)))
			++*count;
	}
	envp[*count] = NULL;
}

/* Makes the environment of the helper: `variables`, and in a build with sanitizers or gcov the variables of these. */
static void helper_make_environment(const char *const *variables, char *envp[HELPER_VARIABLES_MAX + 1])
{
	static const char *const tools[] = {"ASAN_OPTIONS", "UBSAN_OPTIONS",     "LSAN_OPTIONS",
					    "GCOV_PREFIX",  "GCOV_PREFIX_STRIP", NULL};
	size_t count = 0;

	helper_add_variables(variables, envp, &count);
	if (exit_runs_handlers)
		helper_add_variables(tools, envp, &count);
}

static int helper_spawn_process(const char *role, const char *const *variables, int fd, pid_t *ret_pid)
{
	char *argv[] = {helper_path, strdupa(role), NULL}, *envp[HELPER_VARIABLES_MAX + 1] = {NULL};
	posix_spawn_file_actions_t actions;
	int error;

	helper_make_environment(variables, envp);
	error = posix_spawn_file_actions_init(&actions);
	if (error == 0) {
		error = posix_spawn_file_actions_adddup2(&actions, fd, HELPER_SOCKET_FD);
		if (error == 0)
			error = posix_spawn(ret_pid, helper_path, &actions, NULL, argv, envp);
		(void)posix_spawn_file_actions_destroy(&actions); /* posix_spawn_file_actions_destroy(3) cannot fail */
	}
	for (char **variable = envp; *variable; variable++)
		free(*variable);
	return -error;
}

/* Finds the executable callgate-egress, and stores its path in helper_path. */
static int helper_find_file(const char **ret_why)
{
	if (installed_find_file(HELPER_FILE_NAME, helper_path) == 0)
		return 0;
	(void)snprintf(helper_error, sizeof(helper_error), "cannot go on: " UNTRUSTED_FILE_MESSAGE_FORMAT, helper_path);
	*ret_why = helper_error;
	return -EPERM;
}

int helper_start(const char *role, const char *const *variables, struct helper *ret_helper, const char **ret_why)
{
	struct helper helper = HELPER_INIT;
	int pair[2], error = helper_find_file(ret_why);

	if (error < 0)
		return error;
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

/* Compares the version that the helper has sent with callgate's own. 0, or -ELIBACC with *ret_why. */
static int helper_compare_version(const char *version, const char **ret_why)
{
	if (strcmp(version, PACKAGE_VERSION) == 0)
		return 0;
	(void)snprintf(helper_error, sizeof(helper_error),
		       "needs %s, which is of callgate %s, not " PACKAGE_VERSION, helper_path, version);
	*ret_why = helper_error;
	return -ELIBACC;
}

int helper_await_equal_version(const struct helper *helper, const char **ret_why)
{
	char version[HELPER_VERSION_SIZE];
	ssize_t got = TEMP_FAILURE_RETRY(recv(helper->fd, version, sizeof(version), MSG_TRUNC));

	if (got == sizeof(version) && version[sizeof(version) - 1] == '\0')
		return helper_compare_version(version, ret_why);
	(void)snprintf(helper_error, sizeof(helper_error),
		       "needs %s, which ended at once: it is another program, or lacks a library", helper_path);
	*ret_why = helper_error;
	return -ELIBACC;
}

int helper_send_version(void)
{
	static const char version[HELPER_VERSION_SIZE] = PACKAGE_VERSION;

	return send(HELPER_SOCKET_FD, version, sizeof(version), MSG_NOSIGNAL) == sizeof(version) ? 0 : -errno;
}

/* ---- a helper that is opened now and executed later, by its descriptor ---- */

#define ELF_NOTES_BYTES_MAX 4096u /* of callgate-egress: how much is searched for its version */
#define ELF_SEGMENTS_MAX 64u      /* program headers of callgate-egress that are searched for its version */

/* Finds callgate's version note among the ELF notes of one segment. */
static bool helper_find_version_note(const char *notes, size_t len, char version[HELPER_VERSION_SIZE])
{
	static const char owner[] = HELPER_ELF_NOTE_OWNER;
	ElfW(Nhdr) head;

	for (size_t at = 0; at + sizeof(head) <= len;) {
		size_t name = at + sizeof(head), value, end;

		memcpy(&head, notes + at, sizeof(head));
		if (head.n_namesz > len || head.n_descsz > len)
			return false;
		value = name + ((head.n_namesz + 3u) & ~3u);
		end = value + ((head.n_descsz + 3u) & ~3u);
		if (end > len)
			return false;
		if (head.n_type == HELPER_ELF_NOTE_TYPE_VERSION && head.n_namesz == sizeof(owner) &&
		    head.n_descsz == HELPER_VERSION_SIZE && memcmp(notes + name, owner, sizeof(owner)) == 0) {
			memcpy(version, notes + value, HELPER_VERSION_SIZE);
			return version[HELPER_VERSION_SIZE - 1] == '\0';
		}
		at = end;
	}
	return false;
}

/* Reads the version in the file's notes. */
static bool helper_read_version_note(int fd, char version[HELPER_VERSION_SIZE])
{
	char notes[ELF_NOTES_BYTES_MAX];
	ElfW(Phdr) segment[ELF_SEGMENTS_MAX];
	ElfW(Ehdr) head;
	size_t bytes;

	if (pread(fd, &head, sizeof(head), 0) != (ssize_t)sizeof(head) ||
	    memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_phentsize != sizeof(segment[0]) ||
	    head.e_phnum > ELF_SEGMENTS_MAX)
		return false;
	bytes = head.e_phnum * sizeof(segment[0]);
	if (pread(fd, segment, bytes, (off_t)head.e_phoff) != (ssize_t)bytes)
		return false;
	for (size_t i = 0; i < head.e_phnum; i++)
		if (segment[i].p_type == PT_NOTE && segment[i].p_filesz <= sizeof(notes) &&
		    pread(fd, notes, segment[i].p_filesz, (off_t)segment[i].p_offset) ==
			    (ssize_t)segment[i].p_filesz &&
		    helper_find_version_note(notes, segment[i].p_filesz, version))
			return true;
	return false;
}

/* Compares the version in callgate-egress' ELF note with this program's. */
static int helper_check_version_of_file(int fd, const char **ret_why)
{
	char version[HELPER_VERSION_SIZE];

	if (helper_read_version_note(fd, version))
		return helper_compare_version(version, ret_why);
	(void)snprintf(helper_error, sizeof(helper_error), "needs %s, which is another program", helper_path);
	*ret_why = helper_error;
	return -ELIBACC;
}

int helper_open_program(const char *role, const char *const *variables, struct helper_program *ret_program,
			const char **ret_why)
{
	struct helper_program program = HELPER_PROGRAM_INIT;
	int error = helper_find_file(ret_why);

	if (error < 0)
		return error;
	program.fd = open(helper_path, O_RDONLY | O_CLOEXEC);
	if (program.fd < 0 || faccessat(AT_FDCWD, helper_path, X_OK, AT_EACCESS) < 0)
		error = helper_explain_failure(-errno, ret_why);
	else
		error = helper_check_version_of_file(program.fd, ret_why);
	program.role = strdup(role);
	if (error == 0 && !program.role)
		error = helper_explain_failure(-ENOMEM, ret_why);
	if (error == 0)
		helper_make_environment(variables, program.envp);
	if (error < 0)
		helper_close_program(&program);
	else
		*ret_program = program;
	return error;
}

int helper_execute(struct helper_program *program, int socket_fd, const char **ret_why)
{
	char *argv[] = {helper_path, program->role, NULL};

	if (program->fd == HELPER_SOCKET_FD) /* keeps it from being replaced by the socket */
		program->fd = fcntl(program->fd, F_DUPFD_CLOEXEC, HELPER_SOCKET_FD + 1);
	/* When socket_fd is HELPER_SOCKET_FD already, dup2(2) would do nothing, and the exec would close the socket. */
	if (socket_fd == HELPER_SOCKET_FD ? fcntl(socket_fd, F_SETFD, 0) < 0 : dup2(socket_fd, HELPER_SOCKET_FD) < 0)
		return helper_explain_failure(-errno, ret_why);
	(void)syscall(SYS_execveat, program->fd, "", argv, program->envp, AT_EMPTY_PATH);
	return helper_explain_failure(-errno, ret_why);
}

void helper_close_program(struct helper_program *program)
{
	cleanup_close(&program->fd);
	free(program->role);
	for (char **variable = program->envp; *variable; variable++)
		free(*variable);
	*program = (struct helper_program)HELPER_PROGRAM_INIT;
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
