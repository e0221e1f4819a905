/* Opens and judges the objects of the program's descriptors. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/proc/fdinfo.h"
#include "base/io.h"
#include "syscalls/file/resolve-private.h"
#include "view/private.h"

void file_write_fd_link(const struct call *call, int fd, char out[64])
{
	if (fd == AT_FDCWD)
		(void)snprintf(out, 64, "%d/cwd", call->tid);
	else
		(void)snprintf(out, 64, "%d/fd/%d", call->tid, fd);
}

int file_open_fd_object(struct call *call, int fd)
{
	char leaf[64];
	int object;

	if (fd < 0 && fd != AT_FDCWD)
		return call_fail(call, -EBADF);
	file_write_fd_link(call, fd, leaf);
	object = openat2_retry(call->sandbox->view->proc_fd, leaf, O_PATH, 0, 0);
	if (!call_thread_still_waits(call)) {
		cleanup_close(&object);
		return call_end_without_response(call);
	}
	if (object < 0)
		return call_fail(call, object == -ENOENT ? -EBADF : object);
	return object;
}

int file_query_fd_unjudged(struct call *call, int fd, const struct file_query *question)
{
	char leaf[64];
	int r = -EBADF;

	if (fd >= 0) {
		file_write_fd_link(call, fd, leaf);
		r = question->ask(question->ctx, call->sandbox->view->proc_fd, leaf, 0);
		if (!call_thread_still_waits(call))
			return call_end_without_response(call);
	}
	if (r < 0)
		call_fail(call, r == -ENOENT ? -EBADF : r);
	return r < 0 ? -1 : 0;
}

bool file_fd_is_open_for_writing(const struct call *call, int fd, int pin)
{
	struct fdinfo held, own;

	/* Another thread may have replaced the descriptor since the object was pinned. */
	if (fdinfo_read(call->tid, fd, &held) < 0 || fdinfo_read(0, pin, &own) < 0 || !fdinfo_is_same_file(&held, &own))
		return false;
	return (held.open_flags & O_ACCMODE) != O_RDONLY && !(held.open_flags & O_PATH);
}

/* The virtual path of the object of our descriptor fd. Its length; -ENOENT: unlinked, outside the view, a pipe. */
static int file_find_virtual_path(const struct call *call, int fd, const struct stat *object, char virt[PATH_MAX])
{
	const struct view *view = call->sandbox->view;
	char host[PATH_MAX];
	ssize_t len = io_read_fd_name(fd, host);
	int r;

	if (len <= 0 || host[0] != '/')
		return -ENOENT;
	r = view_find_virtual_path(view, host, (size_t)len, virt, PATH_MAX);
	return r < 0 || !view_path_leads_to_object(view, virt, object) ? -ENOENT : r;
}

/* Judges an object by its virtual path. False: it is refused, or (*ret_named false) has no path. */
static bool file_judge_fd_object(struct call *call, int object, const struct stat *status, unsigned want,
				 bool *ret_named)
{
	struct place *place = &call->resolved_place[0];
	char virt[PATH_MAX];
	int len = file_find_virtual_path(call, object, status, virt);

	*ret_named = len >= 0;
	if (len < 0)
		return false;
	memcpy(place->virt, virt, (size_t)len + 1);
	place->virt_len = (size_t)len;
	if (view_set_mount_of_place(call->sandbox->view, place) < 0)
		return false;
	call->decision = view_judge_place(call->sandbox->view, call->task, place, want);
	return call->decision.verdict != VERDICT_DENY;
}

int file_pin_fd(struct call *call, int fd, unsigned want)
{
	_cleanup_close_ int object = file_open_fd_object(call, fd);
	struct stat status;
	bool named;

	if (object < 0)
		return -1;
	if (fstat(object, &status) < 0)
		return call_fail(call, -errno);
	if (file_judge_fd_object(call, object, &status, want, &named))
		return steal_fd(&object);
	if (named)
		return call_fail(call, -call->decision.error);
	/* A file without a path may be the host's: the program gets only the access of its descriptor. */
	if (want & POLICY_WRITE && (S_ISREG(status.st_mode) || (S_ISDIR(status.st_mode) && status.st_nlink > 0)) &&
	    !file_fd_is_open_for_writing(call, fd, object))
		return call_refuse(call, -EACCES, NULL, "not_granted");
	call->decision = (struct policy_decision){.verdict = VERDICT_ALLOW, .reason = "own_descriptor"};
	return steal_fd(&object);
}

/*
 * Whether the descriptor that the link /proc/PID/fd/N stands for was opened with the access of open_flags. 0; -EACCES;
 * -EAGAIN: the descriptor refers to another object by now.
 */
static int file_fd_link_permits_access(const struct place *place, int pin, int open_flags)
{
	const char *thread = strstr(place->path_below_mount_fd, "/task/"),
		   *number = strstr(place->path_below_mount_fd, "/fd/");
	pid_t holder = (pid_t)strtol(thread ? thread + strlen("/task/") : place->path_below_mount_fd, NULL, 10);
	struct fdinfo held, own;

	if (!number) /* exe and cwd are not descriptors, and have no access mode */
		return -EACCES;
	if (fdinfo_read(holder, (int)strtol(number + strlen("/fd/"), NULL, 10), &held) < 0 ||
	    fdinfo_read(0, pin, &own) < 0)
		return -EACCES;
	/* dup2(2) can replace the descriptor: its flags count only if it still refers to the pinned object. */
	if (!fdinfo_is_same_file(&held, &own))
		return -EAGAIN;
	if ((held.open_flags & O_ACCMODE) == O_RDWR ||
	    (held.open_flags & O_ACCMODE) == ((unsigned)open_flags & O_ACCMODE))
		return open_flags & O_TRUNC && (held.open_flags & O_ACCMODE) == O_RDONLY ? -EACCES : 0;
	return -EACCES;
}

int file_open_proc_fd_link(const struct call *call, const struct place *place, int open_flags)
{
	_cleanup_close_ int pin = view_open_place(place, O_PATH, 0);
	char virt[PATH_MAX];
	struct stat object;
	int fd, r;

	if (pin < 0)
		return pin;
	if (fstat(pin, &object) < 0)
		return -errno;
	if (file_find_virtual_path(call, pin, &object, virt) >= 0)
		/* the descriptor refers to an object with a name by now, and that name must be judged */
		return -EAGAIN;
	if (open_flags & O_DIRECTORY && !S_ISDIR(object.st_mode))
		return -ENOTDIR;
	if (open_flags & O_PATH)
		return steal_fd(&pin);
	r = S_ISFIFO(object.st_mode) ? 0 : file_fd_link_permits_access(place, pin, open_flags);
	if (r < 0)
		return r;
	fd = open(io_proc_fd_path(pin).path, (open_flags & ~(O_NOFOLLOW | O_CREAT | O_EXCL)) | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}
