/*
 * Resolves a decoded path to a judged, pinned object, for every handler. Errors come in the kernel's order: dirfd,
 * walk, policy.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/path.h"
#include "syscalls/file/resolve-private.h"
#include "view/private.h"

void file_reset_outcome(struct call *call)
{
	call->outcome = (struct outcome){.kind = OUTCOME_ERROR, .value = -EIO, .fd = -1};
	call->decision = (struct policy_decision){.verdict = VERDICT_ALLOW, .reason = "not_there"};
}

int file_get_outcome_error(const struct call *call)
{
	return call->outcome.kind == OUTCOME_ERROR ? (int)call->outcome.value : 0;
}

bool resolve_error_requires_walk(int error)
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

const char *resolve_skip_dot_components(const char *text)
{
	while (text[0] == '.' && (text[1] == '/' || text[1] == '\0'))
		text += 1 + strspn(text + 1, "/");
	return text;
}

/* Whether a relative path leads above the directory that it starts from: the kernel looks up ".." in that. */
static bool resolve_begins_above(const char *text)
{
	const char *rest = resolve_skip_dot_components(text);

	return rest[0] == '.' && rest[1] == '.' && (rest[2] == '/' || rest[2] == '\0');
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

	if (!resolve_begins_above(rest))
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

/* Whether the directory that a path starts from can be searched. 0 or -errno. */
static int resolve_search_start_dir(const struct call *call, int dirfd)
{
	char link[64];

	file_write_fd_link(call, dirfd, link);
	return faccessat(call->sandbox->view->proc_fd, link, X_OK, AT_EACCESS) < 0 && errno == EACCES ? -EACCES : 0;
}

int resolve_find_start_dir(struct call *call, struct call_path *path, char base[PATH_MAX])
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
	else if (r >= 0 && resolve_begins_above(path->text))
		r = resolve_search_start_dir(call, path->dirfd);
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

int resolve_fail(struct call *call, const struct place *place, unsigned want, int error)
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

bool resolve_judge_place(struct call *call, const struct place *place, unsigned want)
{
	call->decision = view_judge_place(call->sandbox->view, call->task, place, want);
	return call->decision.verdict != VERDICT_DENY;
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
 * Whether the last component is ".": the kernel looks it up in the directory itself, which has to be searchable. The
 * view's path of the directory has no such component.
 */
static bool resolve_ends_with_dot(const struct call_path *path)
{
	return path->len > 0 && path->text[path->len - 1] == '.' &&
	       (path->len == 1 || path->text[path->len - 2] == '/');
}

/* Asks a question about an open object; that may have to be a directory that can be searched. Its result, or -errno. */
static int resolve_query_object(const struct file_query *question, int fd, bool is_searched)
{
	if (is_searched && faccessat(fd, "", X_OK, AT_EMPTY_PATH | AT_EACCESS) < 0)
		return -errno;
	return question ? question->ask(question->ctx, fd, "", AT_EMPTY_PATH) : 0;
}

/*
 * Opens a place that was judged, if question is NULL; else asks the question about it, such as an fstatat(2). Returns a
 * descriptor, 0 if the question was asked, or -errno. The question is asked by name where the view permits it and
 * O_DIRECTORY is not set, else of a descriptor that is opened with open_flags. is_searched: of resolve_ends_with_dot().
 */
static int resolve_open_or_query(const struct call *call, const struct place *place, int open_flags, bool is_searched,
				 const struct file_query *question)
{
	_cleanup_close_ int fd = -1;
	const char *path;
	int dirfd, r;

	if (!place->is_magic_link && view_skeleton_place_is_absent(place))
		return -ENOENT;
	if (!question && !is_searched)
		return resolve_open_place(call, place, open_flags);
	if (!(open_flags & O_DIRECTORY) && view_get_nosymfollow_path(place, &dirfd, &path))
		return question->ask(question->ctx, dirfd, path, open_flags & O_NOFOLLOW ? AT_SYMLINK_NOFOLLOW : 0);
	fd = resolve_open_place(call, place, open_flags);
	if (fd < 0)
		return fd;
	r = resolve_query_object(question, fd, is_searched);
	return r < 0 || question ? r : steal_fd(&fd);
}

int resolve_walk_and_judge(struct call *call, unsigned i, const char *base, unsigned follow, unsigned want)
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
		fd = resolve_open_or_query(call, place, open_flags, resolve_ends_with_dot(&call->path[i]), question);
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
		fd = resolve_open_or_query(call, place, open_flags, resolve_ends_with_dot(&call->path[i]), question);
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
