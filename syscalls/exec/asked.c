/* Execs that an approver is asked about: what was asked is what runs. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/proc/stat.h"
#include "syscalls/call/memory.h"
#include "syscalls/exec/asked.h"
#include "syscalls/exec/execve.h"

#define ASKED_ARGS_MAX 4096u /* most arguments of an exec that is asked about */

void exec_stamp_read(const char *path, struct exec_stamp *ret_stamp)
{
	struct stat st;

	memset(ret_stamp, 0, sizeof(*ret_stamp));
	if (stat(path, &st) < 0)
		return;
	ret_stamp->dev = st.st_dev;
	ret_stamp->ino = st.st_ino;
	ret_stamp->size = st.st_size;
	ret_stamp->mtime = st.st_mtim;
	ret_stamp->ctime = st.st_ctim;
}

/* Copies the arguments at argv into asked->argv. 0, or -E2BIG, -EFAULT and the like. */
static int asked_read_arguments(const struct call *call, uint64_t argv, struct exec_asked *asked)
{
	const struct memory_ops *memory = call->sandbox->target_memory;
	uint64_t pointer;

	for (unsigned i = 0; i < ASKED_ARGS_MAX; i++) {
		ssize_t len;
		int r = memory_copy_in(memory, call->tid, argv + i * sizeof(pointer), &pointer, sizeof(pointer));

		if (r < 0)
			return r;
		if (!pointer) /* without arguments, the kernel adds one */
			return asked->argv_len ? 0 : -EINVAL;
		len = memory_copy_string(memory, call->tid, pointer, asked->argv + asked->argv_len,
					 sizeof(asked->argv) - asked->argv_len, -E2BIG);
		if (len < 0)
			return (int)len;
		asked->argv_len = strlen(asked->argv + asked->argv_len) + asked->argv_len + 1;
	}
	return -E2BIG;
}

/* Makes the command line of the new image: for a script, the kernel puts other arguments in place of the first one. */
static int asked_make_command(const struct exec_args *args, struct exec_asked *asked)
{
	const size_t skipped = args->count ? strlen(asked->argv) + 1 : 0;

	for (size_t i = SHEBANG_CHAIN_ARGS_MAX - args->count; i < SHEBANG_CHAIN_ARGS_MAX; i++) {
		const size_t len = strlen(args->text[i]) + 1;

		if (asked->command_len + len > EXEC_ASKED_BYTES_MAX)
			return -E2BIG;
		memcpy(asked->command + asked->command_len, args->text[i], len);
		asked->command_len += len;
	}
	memcpy(asked->command + asked->command_len, asked->argv + skipped, asked->argv_len - skipped);
	asked->command_len += asked->argv_len - skipped;
	return 0;
}

static int asked_stamp_files(const struct call *call, struct exec_asked *asked)
{
	for (unsigned i = 0; i < 2 && call->resolved_place[i].mount; i++) {
		int r = view_get_supervisor_path(&call->resolved_place[i], asked->path[i], sizeof(asked->path[i]));

		if (r < 0)
			return r;
		exec_stamp_read(asked->path[i], &asked->stamp[i]);
		if (!asked->stamp[i].ino)
			return -ENOENT;
		asked->path_count++;
	}
	return 0;
}

/* Finds which directory is the current one of a thread. Zeros: not known. */
static void asked_identify_cwd(pid_t tid, dev_t *ret_dev, ino_t *ret_ino)
{
	char link[32];
	struct stat st = {0};

	(void)snprintf(link, sizeof(link), "/proc/%d/cwd", tid);
	if (stat(link, &st) < 0)
		st = (struct stat){0};
	*ret_dev = st.st_dev;
	*ret_ino = st.st_ino;
}

/* Notes the current directory: relative paths, and the files that programs find by themselves, depend on it. */
static void asked_note_cwd(const struct call *call, struct exec_asked *asked)
{
	bool held;
	int len = view_get_start_dir(call->sandbox->view, call->task, AT_FDCWD, asked->cwd, sizeof(asked->cwd), &held);

	if (len < 0) /* removed, or outside of the view */
		asked->cwd[0] = '\0';
	asked_identify_cwd(call->tid, &asked->cwd_dev, &asked->cwd_ino);
}

int exec_asked_create(const struct call *call, uint64_t argv, uint64_t envp, const struct exec_args *args,
		      struct exec_asked **ret_asked)
{
	_cleanup_free_ struct exec_asked *asked = calloc(1, sizeof(*asked));
	int r = asked ? asked_read_arguments(call, argv, asked) : -ENOMEM;

	if (r == 0)
		r = asked_make_command(args, asked);
	if (r == 0)
		r = exec_environment_read(call, envp, &asked->environment);
	if (r == 0)
		r = asked_stamp_files(call, asked);
	if (r < 0)
		return r;
	asked_note_cwd(call, asked);
	*ret_asked = steal_pointer(&asked);
	return r;
}

/* Whether /proc/PID/cmdline is this text: the kernel's copy of the arguments, before the image has run. */
static bool asked_process_has_command(pid_t pid, const char *text, size_t len)
{
	_cleanup_close_ int fd = procstat_open_file(pid, "cmdline");
	char part[4096];
	size_t at = 0;
	ssize_t got;

	if (fd < 0)
		return false;
	while ((got = read(fd, part, sizeof(part))) > 0) {
		if ((size_t)got > len - at || memcmp(text + at, part, (size_t)got) != 0)
			return false;
		at += (size_t)got;
	}
	return got == 0 && at == len;
}

bool exec_asked_is_what_runs(const struct exec_asked *asked, pid_t pid)
{
	dev_t cwd_dev;
	ino_t cwd_ino;

	asked_identify_cwd(pid, &cwd_dev, &cwd_ino);
	if (cwd_dev != asked->cwd_dev || cwd_ino != asked->cwd_ino)
		return false;
	for (unsigned i = 0; i < asked->path_count; i++) {
		struct exec_stamp now;

		exec_stamp_read(asked->path[i], &now);
		if (memcmp(&now, &asked->stamp[i], sizeof(now)) != 0)
			return false;
	}
	return asked_process_has_command(pid, asked->command, asked->command_len) &&
	       exec_environment_is_of_process(&asked->environment, pid);
}
