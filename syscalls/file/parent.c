/* Pins the directory of a path's last name, for calls that make, remove or change names. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/path.h"
#include "syscalls/file/resolve-private.h"
#include "view/private.h"

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
