/* readlink(2) and getcwd(2), which turn host paths into virtual paths; chdir(2). fchdir(2) is native. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "syscalls/call/native.h"
#include "syscalls/file/resolve.h"
#include "syscalls/table/handlers.h"

#define DELETED_SUFFIX " (deleted)" /* d_path() appends it to the name of an unlinked file */

/* Removes " (deleted)", which the kernel appends to the path of an unlinked file. */
static bool link_cut_deleted_suffix(char *host, size_t *len)
{
	size_t tail = sizeof(DELETED_SUFFIX) - 1;

	if (*len <= tail || strcmp(host + *len - tail, DELETED_SUFFIX) != 0)
		return false;
	*len -= tail;
	host[*len] = '\0';
	return true;
}

/*
 * Replaces the host path in a link of /proc (cwd, exe, fd/N) by the virtual path. Objects without a path ("pipe:[1]",
 * "/memfd:x (deleted)") keep their text. An object without a virtual path becomes "(unreachable)", the kernel's text
 * for an object outside a process's root.
 */
static size_t link_replace_host_path(const struct call *call, const struct stat *object, char *text, size_t len)
{
	char virt[PATH_MAX];
	bool deleted;
	int r;

	if (text[0] != '/' || strncmp(text, "/memfd:", 7) == 0)
		return len;
	deleted = object->st_nlink == 0 && link_cut_deleted_suffix(text, &len);
	r = view_find_virtual_path(call->sandbox->view, text, len, virt, sizeof(virt));
	if (r < 0 || (!deleted && !view_path_leads_to_object(call->sandbox->view, virt, object)))
		r = snprintf(virt, sizeof(virt), "(unreachable)");
	r = snprintf(text, PATH_MAX, "%s%s", virt, deleted ? DELETED_SUFFIX : "");
	return r < PATH_MAX ? (size_t)r : PATH_MAX - 1;
}

ssize_t file_read_link_text(const struct call *call, const struct place *place, int fd, char text[PATH_MAX])
{
	struct stat link, object;
	ssize_t len = readlinkat(fd, "", text, PATH_MAX - 1);

	/* ENOENT: not a link, by an empty path (do_readlinkat() in fs/stat.c), or the link of a zombie. */
	if (len < 0 && errno == ENOENT)
		return fstat(fd, &link) == 0 && S_ISLNK(link.st_mode) ? -ENOENT : -EINVAL;
	if (len < 0)
		return -errno;
	text[len] = '\0';
	if (!place->mount || !(place->mount->flags & MOUNT_PROC) || fstat(fd, &link) < 0 || !S_ISLNK(link.st_mode))
		return len;
	if (strcmp(place->virt, "/proc/self") == 0)
		return snprintf(text, PATH_MAX, "%d", call->task->tgid);
	if (strcmp(place->virt, "/proc/thread-self") == 0)
		return snprintf(text, PATH_MAX, "%d/task/%d", call->task->tgid, call->tid);
	/* A relative text without ":" is that of a plain link (/proc/mounts). Other links lead to objects. */
	if (text[0] != '/' && !strchr(text, ':'))
		return len;
	if (strcmp(strrchr(place->virt, '/'), "/root") == 0)
		return snprintf(text, PATH_MAX, "/");
	if (fstatat(place->mount->fd, place->path_below_mount_fd, &object, 0) < 0)
		return -errno;
	return (ssize_t)link_replace_host_path(call, &object, text, (size_t)len);
}

/* Asks the kernel for a link's target. */
struct readlink_query {
	const struct call *call;
	size_t len;
	char text[PATH_MAX];
};

static int readlink_read_by_name(void *ctx, int dirfd, const char *path, int at_flags)
{
	struct readlink_query *question = ctx;
	ssize_t len;

	if (at_flags & AT_EMPTY_PATH)
		len = file_read_link_text(question->call, &question->call->resolved_place[0], dirfd, question->text);
	else
		len = readlinkat(dirfd, path, question->text, sizeof(question->text) - 1);
	if (len < 0)
		return at_flags & AT_EMPTY_PATH ? (int)len : -errno;
	question->len = (size_t)len;
	return 0;
}

static void readlink_path(struct call *call, uint64_t buffer, int size)
{
	bool empty = call->path[0].len == 0 && !call->path[0].error && call->path[0].dirfd != AT_FDCWD;
	struct readlink_query link;
	const struct file_query question = {.ask = readlink_read_by_name, .ctx = &link};

	if (size <= 0) {
		call_fail(call, -EINVAL);
		return;
	}
	link.call = call;
	if (file_judge_and_query_path(call, 0, POLICY_READ, AT_SYMLINK_NOFOLLOW | (empty ? AT_EMPTY_PATH : 0),
				      &question) < 0) {
		/* With an empty path, an object that is not a link is ENOENT. */
		if (empty && file_get_outcome_error(call) == -EINVAL)
			call_fail(call, -ENOENT);
		return;
	}
	if (link.len > (size_t)size)
		link.len = (size_t)size;
	file_end_call_with_output(call, buffer, link.text, link.len, (int64_t)link.len);
}

HANDLER(sys_readlink, readlink_path(call, call->arg[1], call_get_int(call, 2)))
HANDLER(sys_readlinkat, readlink_path(call, call->arg[2], call_get_int(call, 3)))

/*
 * Whether chdir may be continued, so that the kernel reads the path again. In a mount namespace, a task that swaps the
 * path meanwhile gets another directory of the view. That grants nothing, because every use of the cwd is judged.
 * Without a mount namespace it could get any directory of the host. So the task is made to call fchdir(2) on the pinned
 * directory.
 */
static bool chdir_may_continue(struct call *call, const struct stat *status)
{
	const struct place *place = &call->resolved_place[0];

	return view_is_attached(call->sandbox->view) && !view_object_has_no_path(place) &&
	       native_path_leads_to_file(call, AT_FDCWD, call->path[0].text, 0, status);
}

void sys_chdir(struct call *call)
{
	_cleanup_close_ int pin =
		file_pin_path(call, 0, POLICY_READ, VIEW_FOLLOW_LAST_LINK, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct stat status;

	if (pin < 0)
		return;
	if (fstat(pin, &status) < 0) {
		call_fail(call, -errno);
	} else if (file_refuse_unless_public(call, &status, S_IXOTH) < 0) {
		return;
	} else if (chdir_may_continue(call, &status)) {
		call_continue(call);
	} else if (access(io_proc_fd_path(pin).path, X_OK) < 0) {
		call_fail(call, -errno); /* the errno of fchdir(2) */
	} else {
		call->outcome.kind = OUTCOME_OPATH_FD;
		call->outcome.fd = steal_fd(&pin);
	}
}

void sys_getcwd(struct call *call)
{
	char cwd[PATH_MAX];
	uint64_t size = call->arg[1];
	bool held;
	int len = view_get_start_dir(call->sandbox->view, call->task, AT_FDCWD, cwd, sizeof(cwd), &held);

	call->decision = (struct policy_decision){.verdict = VERDICT_ALLOW, .reason = "own_cwd"};
	if (!call_thread_still_waits(call))
		(void)call_end_without_response(call);
	else if (len < 0)
		call_fail(call, len);
	else if ((uint64_t)len + 1 > size)
		call_fail(call, -ERANGE);
	else
		file_end_call_with_output(call, call->arg[0], cwd, (size_t)len + 1, len + 1);
}
