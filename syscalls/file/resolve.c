/*
 * Resolves a decoded path or descriptor to a judged, pinned object, for every handler; for calls that make, remove or
 * change names, to the directory of the last name. Errors come in the kernel's order: dirfd, walk, policy.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fdinfo.h"
#include "base/io.h"
#include "base/path.h"
#include "syscalls/file/resolve.h"
#include "view/private.h"

#define FILE_RESOLVE_ATTEMPTS_MAX 16 /* attempts; ELOOP if a name changes faster than it can be resolved */

/* ---- objects of the program's descriptors ---- */

/* Writes the path of a descriptor's link below /proc. */
static void file_write_fd_link(const struct call *call, int fd, char out[64])
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

void file_reset_outcome(struct call *call)
{
	call->outcome = (struct outcome){.kind = OUTCOME_ERROR, .value = -EIO, .fd = -1};
	call->decision = (struct policy_decision){.verdict = VERDICT_ALLOW, .reason = "not_there"};
}

int file_get_outcome_error(const struct call *call)
{
	return call->outcome.kind == OUTCOME_ERROR ? (int)call->outcome.value : 0;
}

int file_set_umask_of_target(struct call *call)
{
	long mask = task_table_read_status_number(call->tid, "Umask", 8);

	if (mask < 0 || !call_thread_still_waits(call))
		return call_end_without_response(call);
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

/* ---- paths ---- */

/* Whether a strict open failed with an error after which the path has to be walked. */
static bool resolve_error_requires_walk(int error)
{
	return error == -ELOOP || error == -EXDEV || error == -EAGAIN;
}

/* Whether dirfd is the /proc directory of a reaped process. Every name in it is ESRCH (proc_pid_permission()). */
static bool resolve_dirfd_is_of_reaped_process(const struct call *call, int dirfd)
{
	char path[64];

	if (dirfd < 0)
		return false;
	(void)snprintf(path, sizeof(path), "/proc/%d/fd/%d/.", call->tid, dirfd); /* bounded by two ints */
	return access(path, F_OK) < 0 && errno == ESRCH;
}

/* The part of a path after its leading "." components. */
static const char *resolve_skip_dot_components(const char *text)
{
	while (text[0] == '.' && (text[1] == '/' || text[1] == '\0'))
		text += 1 + strspn(text + 1, "/");
	return text;
}

/*
 * A relative path from a removed directory. Only ".." leads anywhere: to the directory's former parent. The path is
 * shortened accordingly. resolve_object_of_removed_directory() handles the directory itself (".").
 */
static int resolve_start_at_former_parent(const struct call *call, struct call_path *path, char base[PATH_MAX],
					  bool *ret_held)
{
	const char *rest = resolve_skip_dot_components(path->text);
	int r;

	if (rest[0] != '.' || rest[1] != '.' || (rest[2] != '/' && rest[2] != '\0'))
		return -ENOENT;
	r = view_get_deleted_start_dir(call->sandbox->view, call->task, path->dirfd, base, PATH_MAX, ret_held);
	if (r < 0)
		return r;
	rest += 2 + strspn(rest + 2, "/");
	path->len = strlen(rest);
	memmove(path->text, rest, path->len + 1);
	if (path->len == 0) {
		path->text[path->len++] = '.';
		path->text[path->len] = '\0';
	}
	return r;
}

/* Finds the directory that a path starts from. 0, or -1 with the outcome set. */
static int resolve_find_start_dir(struct call *call, struct call_path *path, char base[PATH_MAX])
{
	bool held;
	int r;

	if (path->error || path->text[0] == '\0')
		return call_fail(call, path->error ? path->error : -ENOENT);
	if (path->text[0] == '/') {
		base[0] = '/';
		base[1] = '\0';
		return 0;
	}
	r = view_get_start_dir(call->sandbox->view, call->task, path->dirfd, base, PATH_MAX, &held);
	if (r == -ENOENT)
		r = resolve_start_at_former_parent(call, path, base, &held);
	if (!held && !call_thread_still_waits(call))
		/* The tid may have been reused, so /proc/TID may be of another task. */
		return call_end_without_response(call);
	if (r < 0)
		return call_fail(call,
				 r == -ENOENT && resolve_dirfd_is_of_reaped_process(call, path->dirfd) ? -ESRCH : r);
	return 0;
}

/*
 * Refuses a path below a denied name, which failed with `error`, by the rule that denies the name: the errno would
 * reveal what the object is, or whether a name exists below it. True: refused.
 */
static bool resolve_fail_denied(struct call *call, const struct place *place, unsigned want, int error)
{
	const struct view *view = call->sandbox->view;
	struct policy_decision decision;

	if (!place->mount || place->is_magic_link || place->mount->flags & (MOUNT_PROC | MOUNT_SKELETON))
		return false;
	if (error == -ENOENT)
		decision = policy_decide_access(view->policy, place->virt,
						(size_t)(strrchr(place->virt, '/') - place->virt), POLICY_READ);
	else
		decision = view_judge_place(view, call->task, place, POLICY_READ);
	if (decision.verdict != VERDICT_DENY || (error == -ENOENT && decision.error != EACCES))
		return false;
	call->decision = decision;
	call->decision.wanted_rights = want;
	call_fail(call, -decision.error);
	return true;
}

/* Refuses a path that is granted only as far as everybody on the host may read it. */
static int resolve_refuse_object_not_public(struct call *call, const struct place *place)
{
	struct policy_decision granted =
		policy_decide_access(call->sandbox->policy, place->virt, place->virt_len, POLICY_READ);

	(void)call_refuse(call, -EACCES, granted.rule, "not_public");
	call->decision.wanted_rights = POLICY_READ;
	return -1;
}

int file_refuse_unless_public(struct call *call, const struct stat *status, mode_t needed)
{
	const struct place *place = &call->resolved_place[0];

	if (!place->mount || S_ISLNK(status->st_mode) || !view_place_is_public_only(place))
		return 0;
	if ((status->st_mode & needed) == needed && (!(needed & S_IROTH) || view_public_place_may_be_read(place)))
		return 0;
	return resolve_refuse_object_not_public(call, place);
}

/*
 * Fails the call with ENOENT, as natively, because nothing exists at the path. The call counts as allowed. Returns -1.
 */
static int resolve_fail_absent(struct call *call)
{
	call->decision = (struct policy_decision){
		.verdict = VERDICT_ALLOW, .reason = "absent", .wanted_rights = call->decision.wanted_rights};
	return call_fail(call, -ENOENT);
}

/*
 * Sets the outcome of a path that leads nowhere and on which `want` was to be judged; returns -1. Outside every grant
 * that is a denial, unless the host has nothing there either, so that the call fails natively too (every process looks
 * for /etc/ld.so.preload).
 */
static int resolve_fail(struct call *call, const struct place *place, unsigned want, int error)
{
	if (resolve_fail_denied(call, place, want, error))
		return -1;
	if (error == -EACCES && view_place_is_refused_as_not_public(place))
		return resolve_refuse_object_not_public(call, place);
	/* With --mode observe: nothing exists at the path, whatever the judged policy says. */
	if (error == -ENOENT && call_is_observed(call))
		return resolve_fail_absent(call);
	/* In a granted tree, an absent name is not denied, even if a rule denies such names (as all .env). */
	if (error == -ENOENT && place->mount && !(place->mount->flags & (MOUNT_SKELETON | MOUNT_PROC)) &&
	    call->decision.verdict == VERDICT_DENY)
		return resolve_fail_absent(call);
	if (error != -ENOENT || !place->mount || !(place->mount->flags & MOUNT_SKELETON))
		return call_fail(call, error);
	if (!view_is_absent_on_host(call->sandbox->view, place->virt, place->virt_len))
		(void)call_refuse(call, error, NULL, "not_granted");
	else
		(void)resolve_fail_absent(call);
	call->decision.wanted_rights = want;
	return -1;
}

/* Judges a place, and keeps the decision. True: allowed. */
static bool resolve_judge_place(struct call *call, const struct place *place, unsigned want)
{
	call->decision = view_judge_place(call->sandbox->view, call->task, place, want);
	return call->decision.verdict != VERDICT_DENY;
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

/* Opens an object without a name. Pins it first, because another thread can replace the descriptor. */
static int file_open_proc_fd_link(const struct call *call, const struct place *place, int open_flags)
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

/*
 * Whether opening the object for reading or writing may block, because it is a FIFO or a terminal. Checked only where
 * the program can make them. Elsewhere the watchdog interrupts an open that blocks (EINTR), so that opening libraries
 * and modules costs no more.
 */
static bool resolve_may_block(const struct call *call, const struct place *place)
{
	const unsigned own = MOUNT_DEVICE | MOUNT_PROC | MOUNT_PROVIDED | MOUNT_SKELETON;
	struct stat there;

	if (place->mount->flags & own ||
	    !(policy_get_rights(call->sandbox->policy, place->virt, place->virt_len) & POLICY_WRITE))
		return false;
	/* If a link is on the path, this answer may be wrong. The open that follows notices links. */
	return fstatat(place->mount->fd, place->path_below_mount_fd, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
	       (S_ISFIFO(there.st_mode) || S_ISCHR(there.st_mode));
}

/* Opens a judged place. -EINTR: that may block, so it is to be pinned first. */
static int resolve_open_place(const struct call *call, const struct place *place, int open_flags)
{
	if (place->is_magic_link)
		return file_open_proc_fd_link(call, place, open_flags);
	/*
	 * Which terminal /dev/tty is depends on the task. EINTR: the caller pins the path, and open_reopen_pinned()
	 * opens the task's terminal.
	 */
	if (place->mount->flags & MOUNT_TTY && !(open_flags & (O_PATH | O_DIRECTORY)))
		return -EINTR;
	if (!(open_flags & (O_PATH | O_NONBLOCK | O_DIRECTORY)) && resolve_may_block(call, place))
		return -EINTR;
	return view_open_place(place, open_flags, 0);
}

/*
 * Opens a place that was judged, if question is NULL; else asks the question about it, such as an fstatat(2). Returns a
 * descriptor, 0 if the question was asked, or -errno. The question is asked by name where the view permits it and
 * O_DIRECTORY is not set, else of a descriptor that is opened with open_flags.
 */
static int resolve_open_or_query(const struct call *call, const struct place *place, int open_flags,
				 const struct file_query *question)
{
	_cleanup_close_ int fd = -1;
	const char *path;
	int dirfd;

	if (!place->is_magic_link && view_skeleton_place_is_absent(place))
		return -ENOENT;
	if (!question)
		return resolve_open_place(call, place, open_flags);
	if (!(open_flags & O_DIRECTORY) && view_get_nosymfollow_path(place, &dirfd, &path))
		return question->ask(question->ctx, dirfd, path, open_flags & O_NOFOLLOW ? AT_SYMLINK_NOFOLLOW : 0);
	fd = resolve_open_place(call, place, open_flags);
	return fd < 0 ? fd : question->ask(question->ctx, fd, "", AT_EMPTY_PATH);
}

/*
 * Walks path[i], stores its place in call->resolved_place[i] and judges it. follow: VIEW_FOLLOW_LAST_LINK, or 0. 0, or
 * -1 with the outcome set.
 */
static int resolve_walk_and_judge(struct call *call, unsigned i, const char *base, unsigned follow, unsigned want)
{
	struct place *place = &call->resolved_place[i];
	int r = view_walk_path(call->sandbox->view, call->task, base, call->path[i].text, follow, place);

	if (r < 0) {
		call->decision.wanted_rights = 0; /* an earlier decision is not about the name where the walk ended */
		return resolve_fail(call, place, want, r);
	}
	return resolve_judge_place(call, place, want) ? 0 : call_fail(call, -call->decision.error);
}

/*
 * Sets the outcome when a lookup was denied at a directory on the path (/root/.cargo), and returns -1. If the whole
 * path does not exist on the host either, as most paths that a search of PATH tries, the call fails natively. Not for
 * calls that make a name.
 */
static int resolve_fail_if_host_lacks_path(struct call *call, unsigned i, const char *base)
{
	const struct policy_decision *decision = &call->decision;
	char whole[PATH_MAX];
	bool lexical;
	int len;

	if (decision->verdict != VERDICT_DENY || decision->rule || file_get_outcome_error(call) != -ENOENT ||
	    !call->resolved_place[i].mount || !(call->resolved_place[i].mount->flags & MOUNT_SKELETON))
		return -1;
	len = path_join(base, call->path[i].text, whole, sizeof(whole), &lexical);
	if (len > 0 && lexical && view_is_absent_on_host(call->sandbox->view, whole, (size_t)len))
		return resolve_fail_absent(call);
	return -1;
}

/* Resolves a path with links or "..": canonicalises it, judges the canonical path, and opens exactly that path. */
static int resolve_by_walk(struct call *call, unsigned i, const char *base, unsigned want, unsigned follow,
			  int open_flags, const struct file_query *question)
{
	struct place *place = &call->resolved_place[i];
	int fd = -ELOOP;

	for (int tries = 0; tries < FILE_RESOLVE_ATTEMPTS_MAX && resolve_error_requires_walk(fd); tries++) {
		if (resolve_walk_and_judge(call, i, base, follow, want) < 0)
			return resolve_fail_if_host_lacks_path(call, i, base);
		fd = resolve_open_or_query(call, place, open_flags, question);
		if (fd == -ELOOP && open_flags & O_NOFOLLOW && !(open_flags & O_PATH))
			break; /* the last name is a link, which may not be followed */
	}
	if (fd < 0)
		return resolve_fail(call, place, want, fd);
	return fd;
}

/* Sets the place of an object without a name: the path of its link in /proc. */
static void resolve_set_place_to_proc_fd_path(const struct call *call, int fd, struct place *place)
{
	char leaf[64];

	file_write_fd_link(call, fd, leaf);
	place->virt_len = (size_t)snprintf(place->virt, sizeof(place->virt), "/proc/%s", leaf);
	/* errors are ignored, because the place only has to be below /proc */
	(void)view_set_mount_of_place(call->sandbox->view, place);
	place->is_magic_link = true;
}

/*
 * Resolves "." in a removed directory: the object of the descriptor or cwd. The directory is empty, and nothing can be
 * made in it. -1 with the outcome set: the path is not ".", or the directory is not removed.
 */
static int resolve_object_of_removed_directory(struct call *call, unsigned i, int open_flags,
					       const struct file_query *question)
{
	const struct call_path *path = &call->path[i];
	struct place *place = &call->resolved_place[i];
	struct policy_decision before = call->decision;
	struct outcome refused = call->outcome;
	_cleanup_close_ int object = -1;
	struct stat status;
	int fd;

	if (refused.kind != OUTCOME_ERROR || refused.value != -ENOENT || !path->len ||
	    *resolve_skip_dot_components(path->text))
		return -1;
	object = file_open_fd_object(call, path->dirfd);
	if (object < 0)
		return -1;
	if (fstat(object, &status) < 0 || !S_ISDIR(status.st_mode) || status.st_nlink > 0) {
		call->decision = before;
		return call_fail(call, -ENOENT);
	}
	file_reset_outcome(call);
	call->decision = (struct policy_decision){.verdict = VERDICT_ALLOW, .reason = "own_descriptor"};
	resolve_set_place_to_proc_fd_path(call, path->dirfd, place);
	if (question)
		fd = question->ask(question->ctx, object, "", AT_EMPTY_PATH);
	else if (open_flags & O_PATH)
		return steal_fd(&object);
	else
		fd = open(io_proc_fd_path(object).path, (open_flags & ~O_NOFOLLOW) | O_CLOEXEC);
	return fd < 0 ? call_fail(call, question ? fd : -errno) : fd;
}

static int resolve_path(struct call *call, unsigned i, unsigned want, unsigned follow, int open_flags,
			const struct file_query *question)
{
	struct place *place = &call->resolved_place[i];
	char base[PATH_MAX];
	int r, fd;

	if (resolve_find_start_dir(call, &call->path[i], base) < 0)
		return resolve_object_of_removed_directory(call, i, open_flags, question);
	if (path_requires_directory(call->path[i].text)) {
		follow |= VIEW_FOLLOW_LAST_LINK;
		open_flags |= O_DIRECTORY;
	}
	open_flags = follow & VIEW_FOLLOW_LAST_LINK ? open_flags & ~O_NOFOLLOW : open_flags | O_NOFOLLOW;
	r = view_locate_path(call->sandbox->view, call->task, base, call->path[i].text, follow, place);
	if (r == 0 && resolve_judge_place(call, place, want)) {
		fd = resolve_open_or_query(call, place, open_flags, question);
		if (fd >= 0)
			return fd;
		if (!resolve_error_requires_walk(fd) &&
		    !(fd == -ENOTDIR && open_flags & O_NOFOLLOW && open_flags & O_DIRECTORY) &&
		    !(place->mount->flags & MOUNT_PROC))
			return resolve_fail(call, place, want, fd);
	} else if (r < 0 && r != -EAGAIN && r != -ENOTDIR && r != -ENAMETOOLONG)
		return call_fail(call, r);
	return resolve_by_walk(call, i, base, want, follow, open_flags, question);
}

int file_pin_path(struct call *call, unsigned i, unsigned want, unsigned follow, int open_flags)
{
	return resolve_path(call, i, want, follow, open_flags, NULL);
}

int file_judge_and_query_path(struct call *call, unsigned i, unsigned want, unsigned at_flags,
		     const struct file_query *question)
{
	const struct call_path *path = &call->path[i];
	_cleanup_close_ int fd = -1;
	int r;

	if (at_flags & AT_EMPTY_PATH && path->len == 0 && !path->error) {
		fd = file_pin_fd(call, path->dirfd, want);
		r = fd < 0 ? 0 : question->ask(question->ctx, fd, "", AT_EMPTY_PATH);
		if (r < 0)
			call_fail(call, r);
		return fd < 0 || r < 0 ? -1 : 0;
	}
	if (path->is_null_pointer)
		return call_fail(call, -EFAULT);
	return resolve_path(call, i, want, at_flags & AT_SYMLINK_NOFOLLOW ? 0 : VIEW_FOLLOW_LAST_LINK,
			    O_PATH | O_CLOEXEC, question);
}

/* ---- pinning the directory of a path's last name ---- */

/* Splits "a/b/c//" into "a/b" (or ".", or "/") and "c//". */
static void name_split_path(const char *text, char parent[PATH_MAX], const char **ret_last)
{
	size_t end = strlen(text);
	size_t start;

	while (end > 1 && text[end - 1] == '/')
		end--;
	start = end;
	while (start > 0 && text[start - 1] != '/')
		start--;
	*ret_last = text + start;
	/* the path is only slashes, and the root has no name: it gets ".", because calls refuse that name as well */
	if (start == end) {
		*ret_last = ".";
		start = 1;
	}
	(void)snprintf(parent, PATH_MAX, "%.*s", start ? (int)start : 1, start ? text : ".");
}

bool file_name_is_refused(const char *last)
{
	size_t len = strcspn(last, "/");

	return len > NAME_MAX || (len == 1 && last[0] == '.') || (len == 2 && last[0] == '.' && last[1] == '.');
}

/* Appends the last component to the place of its parent. */
static int place_append_name(struct place *place, const char *last)
{
	size_t len = strcspn(last, "/");
	size_t at = place->virt_len;

	if (file_name_is_refused(last))
		return view_set_mount_of_place(place->mount->view, place);
	if (at + 1 + len >= sizeof(place->virt))
		return -ENAMETOOLONG;
	if (at > 1)
		place->virt[at++] = '/';
	memcpy(place->virt + at, last, len);
	place->virt[at + len] = '\0';
	place->virt_len = at + len;
	return view_set_mount_of_place(place->mount->view, place);
}

/* Opens a directory for making or removing names: the host's directory, not its stand-in. */
static int name_open_host_directory(const struct place *place)
{
	const int flags = O_PATH | O_DIRECTORY;

	if (place->is_magic_link || place->mount->flags & MOUNT_PROC || !view_has_standin(place))
		return view_open_place(place, flags, 0);
	return openat2_retry(place->mount->fd, place->path_below_mount_fd, flags, 0, IO_RESOLVE_BELOW);
}

/* Opens the parent directory. *place: its canonical place. */
static int name_open_parent(struct call *call, const char *base, const char *parent, struct place *place)
{
	const struct view *view = call->sandbox->view;
	int r = view_locate_path(view, call->task, base, parent, VIEW_FOLLOW_LAST_LINK, place);
	int fd = r < 0 ? r : name_open_host_directory(place);

	/* ENOTDIR: the last component is a link, which O_DIRECTORY does not follow. */
	if (fd >= 0 || (!resolve_error_requires_walk(fd) && fd != -ENOTDIR))
		return fd;
	fd = -ELOOP;
	for (int tries = 0; tries < FILE_RESOLVE_ATTEMPTS_MAX && resolve_error_requires_walk(fd); tries++) {
		r = view_walk_path(view, call->task, base, parent, VIEW_FOLLOW_LAST_LINK, place);
		fd = r < 0 ? r : name_open_host_directory(place);
		if (r < 0)
			return r;
	}
	return fd;
}

/*
 * Fails a call that makes or removes a name in a removed directory, and returns -1. mkdir(".") is EEXIST there, as in
 * any directory.
 */
static int name_fail_in_removed_directory(struct call *call, const struct call_path *path)
{
	if (file_get_outcome_error(call) == -ENOENT && path->len && !*resolve_skip_dot_components(path->text))
		return call_fail(call, -EEXIST);
	return -1;
}

/* Opens the directory of path i for a call that makes or removes its last name. A descriptor, or -1. */
static int name_resolve_and_pin_parent(struct call *call, unsigned i, const char **ret_name, bool make)
{
	struct place *place = &call->resolved_place[i];
	char base[PATH_MAX], parent[PATH_MAX];
	_cleanup_close_ int fd = -1;
	struct stat there;
	bool allowed;
	int r;

	if (resolve_find_start_dir(call, &call->path[i], base) < 0)
		return make ? name_fail_in_removed_directory(call, &call->path[i]) : -1;
	name_split_path(call->path[i].text, parent, ret_name);
	r = fd = name_open_parent(call, base, parent, place);
	if (r >= 0)
		r = place_append_name(place, *ret_name);
	if (r < 0)
		return resolve_fail(call, place, POLICY_WRITE, r);
	allowed = resolve_judge_place(call, place, POLICY_WRITE);
	if (!allowed && file_name_is_refused(*ret_name) && resolve_judge_place(call, place, POLICY_READ)) {
		/* The kernel refuses the name before it checks permissions. FUSE has names longer than NAME_MAX. */
		if (strcspn(*ret_name, "/") > NAME_MAX)
			return call_fail(call, -ENAMETOOLONG);
		allowed = true;
	}
	if (make && fstatat(fd, *ret_name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
	    ((allowed && !call_is_observed(call)) || resolve_judge_place(call, place, POLICY_READ)))
		return call_fail(call, -EEXIST);
	if (!allowed)
		return call_fail(call, -call->decision.error);
	if (place->virt_len == place->mount->virt_len && !file_name_is_refused(*ret_name))
		return call_fail(call, -EBUSY);
	return steal_fd(&fd);
}

int file_pin_parent(struct call *call, unsigned i, const char **ret_name)
{
	return name_resolve_and_pin_parent(call, i, ret_name, false);
}

int file_pin_parent_of_new_name(struct call *call, unsigned i, const char **ret_name)
{
	return name_resolve_and_pin_parent(call, i, ret_name, true);
}

/*
 * Handles the usual case of a new file: its path has no symbolic link, and its name does not exist. One openat2(2) that
 * follows no links opens the parent. -1: the caller has to walk the path.
 */
static int name_try_pin_parent_directly(struct call *call, unsigned i, const char *base, unsigned follow,
					const char **ret_name)
{
	struct place *place = &call->resolved_place[i];
	_cleanup_close_ int fd = -1;
	struct stat there;

	if (path_requires_directory(call->path[i].text) ||
	    view_locate_path(call->sandbox->view, call->task, base, call->path[i].text, follow, place) < 0 ||
	    place->mount->flags & (MOUNT_PROC | MOUNT_SKELETON) || !resolve_judge_place(call, place, POLICY_WRITE))
		return -1;
	fd = view_open_parent(place, ret_name);
	if (fd < 0 || fstatat(fd, *ret_name, &there, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT)
		return -1;
	return steal_fd(&fd);
}

int file_pin_parent_for_open_create(struct call *call, unsigned i, unsigned follow, const char **ret_name)
{
	struct place *place = &call->resolved_place[i];
	const struct policy_decision before = call->decision;
	char base[PATH_MAX];
	int fd;

	if (resolve_find_start_dir(call, &call->path[i], base) < 0)
		return -1;
	fd = name_try_pin_parent_directly(call, i, base, follow, ret_name);
	if (fd >= 0)
		return fd;
	/* the decision is made again after the walk, because the walk may lead to another path */
	call->decision = before;
	if (resolve_walk_and_judge(call, i, base, follow | VIEW_LAST_MAY_BE_ABSENT, POLICY_WRITE) < 0)
		return -1;
	fd = view_open_parent(place, ret_name);
	return fd < 0 ? call_fail(call, fd) : fd;
}
