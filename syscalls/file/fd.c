/* Objects behind the program's descriptors, and what handlers need to act on a pinned one. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fdinfo.h"
#include "syscalls/file/resolve.h"
#include "view/private.h"

#include "base/banned.h"

static void fd_leaf(const struct call *call, int fd, char out[64])
{
	if (fd == AT_FDCWD)
		(void)snprintf(out, 64, "%d/cwd", call->tid);
	else
		(void)snprintf(out, 64, "%d/fd/%d", call->tid, fd);
}

int file_open_fd(struct call *call, int fd)
{
	char leaf[64];
	int object;

	if (fd < 0 && fd != AT_FDCWD) {
		call_fail(call, -EBADF);
		return -1;
	}
	fd_leaf(call, fd, leaf);
	object = openat2_call(call->sandbox->view->proc_fd, leaf, O_PATH, 0, 0);
	if (!call_valid(call)) {
		if (object >= 0)
			(void)close(object);
		call->outcome.kind = OUTCOME_GONE;
		return -1;
	}
	if (object < 0) {
		call_fail(call, object == -ENOENT ? -EBADF : object);
		return -1;
	}
	return object;
}

int file_ask_fd(struct call *call, int fd, const struct file_question *question)
{
	char leaf[64];
	int r = -EBADF;

	if (fd >= 0) {
		fd_leaf(call, fd, leaf);
		r = question->ask(question->ctx, call->sandbox->view->proc_fd, leaf, 0);
		if (!call_valid(call)) {
			call->outcome.kind = OUTCOME_GONE;
			return -1;
		}
	}
	if (r < 0)
		call_fail(call, r == -ENOENT ? -EBADF : r);
	return r < 0 ? -1 : 0;
}

/* Was this object opened for writing by its holder? Only then may a nameless file's metadata be changed. */
static bool held_for_writing(const struct call *call, int fd, int object)
{
	struct fdinfo held, own;

	if (fdinfo_read(call->tid, fd, &held) < 0)
		return false;
	/* The number may mean something else since the object was pinned. */
	if (fdinfo_read(0, object, &own) < 0 || !fdinfo_same(&held, &own))
		return false;
	return (held.flags & O_ACCMODE) != O_RDONLY && !(held.flags & O_PATH);
}

int file_name(const struct call *call, int fd, const struct stat *object, char virt[PATH_MAX])
{
	const struct view *view = call->sandbox->view;
	char host[PATH_MAX];
	ssize_t len = readlink(file_link(fd).path, host, sizeof(host) - 1);
	int r;

	if (len <= 0 || host[0] != '/')
		return -ENOENT;
	host[len] = '\0';
	r = view_name(view, host, (size_t)len, virt, PATH_MAX);
	return r < 0 || !view_confirm(view, virt, object) ? -ENOENT : r;
}

/* Judges an object by its name in the view, which must lead to this very object. */
static bool judge_named(struct call *call, int object, const struct stat *status, unsigned want, bool *ret_named)
{
	struct place *place = &call->place[0];
	char virt[PATH_MAX];
	int len = file_name(call, object, status, virt);

	*ret_named = len >= 0;
	if (len < 0)
		return false;
	memcpy(place->virt, virt, (size_t)len + 1);
	place->virt_len = (size_t)len;
	if (view_place(call->sandbox->view, place) < 0)
		return false;
	call->decision = view_judge(call->sandbox->view, call->task, place, want);
	return call->decision.verdict != VERDICT_DENY;
}

int file_pin_fd(struct call *call, int fd, unsigned want)
{
	_cleanup_close_ int object = file_open_fd(call, fd);
	struct stat status;
	bool named;

	if (object < 0)
		return -1;
	if (fstat(object, &status) < 0) {
		call_fail(call, -errno);
		return -1;
	}
	if (judge_named(call, object, &status, want, &named))
		return steal_fd(&object);
	if (named) {
		call_fail(call, -call->decision.error);
		return -1;
	}
	/* A file or directory that has lost its name may have been somebody else's: only what it could write already. */
	if (want & POLICY_WRITE && (S_ISREG(status.st_mode) || S_ISDIR(status.st_mode)) && !held_for_writing(call, fd, object)) {
		call_refuse(call, -EACCES, NULL, "not_granted");
		return -1;
	}
	call->decision = (struct policy_decision){.verdict = VERDICT_ALLOW, .reason = "own_descriptor"};
	return steal_fd(&object);
}

int file_use_umask(struct call *call)
{
	long mask = tree_status(call->tid, "Umask", 8);

	if (mask < 0 || !call_valid(call)) {
		call->outcome.kind = OUTCOME_GONE;
		return -1;
	}
	(void)umask((mode_t)mask);
	return 0;
}

bool file_refuse_setid(struct call *call, mode_t mode)
{
	if (!(mode & (S_ISUID | S_ISGID)))
		return false;
	call_refuse(call, -EPERM, NULL, "set_id_bits");
	return true;
}
