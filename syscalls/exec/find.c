#include "syscalls/exec/find.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "syscalls/account/workspace/filling.h"
#include "syscalls/account/workspace/reads.h"
#include "syscalls/file/resolve.h"

int exec_stat_pinned_file(struct call *call, int pin, struct stat *ret_st)
{
	if (fstat(pin, ret_st) < 0)
		call_fail(call, -errno);
	else if (!S_ISREG(ret_st->st_mode))
		call_fail(call, S_ISLNK(ret_st->st_mode) ? -ELOOP : -EACCES);
	else
		return 0;
	return -1;
}

int exec_open_pinned(struct call *call, int pin)
{
	int fd;

	/* Checks noexec too. The system call itself is used, because glibc emulates flags of faccessat(3) by uid. */
	if (syscall(SYS_faccessat2, pin, "", X_OK, AT_EMPTY_PATH | AT_EACCESS) < 0)
		return call_fail(call, -errno);
	if (filling_complete_file(call, pin, false) < 0)
		return -1;
	/* O_NONBLOCK: a lease on the file must not block the supervisor thread. */
	fd = open(io_proc_fd_path(pin).path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0 && errno == EACCES)
		call_refuse(call, EACCES, call->decision.rule, "not_readable");
	else if (fd < 0)
		call_fail(call, -errno);
	return fd;
}

/* Asks the kernel for the status of the file to execute, by name. */
struct exec_stat_question {
	struct stat *st;
	/*
	 * the dirfd that fstatat(2) got: the file itself, or the root of the view's nosymfollow mount; -1: not called
	 */
	int asked_dirfd;
};

static int exec_stat_by_name(void *ctx, int dirfd, const char *path, int at_flags)
{
	struct exec_stat_question *question = ctx;

	question->asked_dirfd = dirfd;
	return fstatat(dirfd, path, question->st, at_flags | AT_NO_AUTOMOUNT) < 0 ? -errno : 0;
}

/*
 * Finds the file of path i in the cache, without opening it. 1: *file is complete; 0: not in the cache, so the caller
 * opens it by exec_open_file(); -1: the outcome is set.
 */
static int exec_find_cached_file(struct call *call, unsigned i, unsigned at_flags, struct exec_file *file)
{
	struct exec_stat_question status = {.st = &file->st, .asked_dirfd = -1};
	const struct file_query question = {.ask = exec_stat_by_name, .ctx = &status};
	const struct place *place = &call->resolved_place[i];
	int nosymfollow_root_fd = view_get_nosymfollow_root_fd(call->sandbox->view);

	file->fd = -1;
	file->is_what_kernel_opens = false;
	if (file_judge_and_query_path(call, i, POLICY_EXEC, at_flags, &question) < 0)
		return -1;
	file->is_from_cache = exec_cache_find_program(place, &file->st, &file->program);
	/* place->virt is canonical. If the program gave that very path, the kernel finds the same file by it. */
	file->is_what_kernel_opens = file->is_from_cache && nosymfollow_root_fd >= 0 &&
				     status.asked_dirfd == nosymfollow_root_fd &&
				     strcmp(call->path[i].text, place->virt) == 0;
	return file->is_from_cache;
}

int exec_open_file(struct call *call, unsigned i, int pin, struct exec_file *file)
{
	_cleanup_close_ int held = pin;

	file->fd = -1;
	file->is_what_kernel_opens = false;
	/* /proc/self/fd/N of an object without a name, such as a memfd */
	if (i == 0 && call->resolved_place[0].is_magic_link)
		return call_refuse(call, EACCES, NULL, "object_without_name");
	if (exec_stat_pinned_file(call, held, &file->st) < 0)
		return -1;
	file->is_from_cache = exec_cache_find_program(&call->resolved_place[i], &file->st, &file->program);
	if (!file->is_from_cache)
		file->fd = exec_open_pinned(call, held);
	return file->is_from_cache || file->fd >= 0 ? 0 : -1;
}

int exec_find_file_by_path(struct call *call, unsigned i, unsigned at_flags, struct exec_file *ret_file)
{
	int pin, r = at_flags & AT_EXECVE_CHECK ? 0 : exec_find_cached_file(call, i, at_flags, ret_file);

	if (r == 0) {
		pin = file_pin_path(call, i, POLICY_EXEC, at_flags & AT_SYMLINK_NOFOLLOW ? 0 : VIEW_FOLLOW_LAST_LINK,
				    O_PATH | O_CLOEXEC);
		r = pin < 0 ? -1 : exec_open_file(call, i, pin, ret_file);
	}
	if (r >= 0)
		reads_note(call, i);
	return r < 0 ? r : 0;
}

int exec_set_interpreter_path(struct call *call, const char *text)
{
	struct call_path *path = &call->path[EXEC_INTERP_PATH_INDEX];

	if (!*text)
		return call_fail(call, -EACCES);                    /* the kernel's errno: it resolves "" to the cwd */
	(void)snprintf(path->text, sizeof(path->text), "%s", text); /* both have room for PATH_MAX bytes */
	path->len = strlen(path->text);
	path->dirfd = AT_FDCWD;
	path->is_null_pointer = false;
	call->path_count = 2;
	return 0;
}
