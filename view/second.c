/*
 * A second view of a run, which shows what the first one hides, for calls that an answer has allowed ("on_deny":
 * "ask-file"). The kernel has no mounts for it: its objects are opened below the host's "/".
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "view/private.h"

/* The first mount at /proc. Later ones have only the files that belong to no process. */
static struct mount *second_view_find_proc_mount(const struct view *view)
{
	for (size_t i = 0; i < view->mount_count; i++)
		if (view->mount[i]->flags & MOUNT_PROC)
			return view->mount[i];
	return NULL;
}

int view_share_proc_of_first_view(struct view *view, const struct view *first)
{
	struct mount *own = second_view_find_proc_mount(view);
	const struct mount *proc = second_view_find_proc_mount(first);
	int proc_fd, mount_fd;

	if (!own || !proc)
		return -ENOENT;
	proc_fd = fcntl(first->proc_fd, F_DUPFD_CLOEXEC, 3);
	mount_fd = fcntl(proc->fd, F_DUPFD_CLOEXEC, 3);
	if (proc_fd < 0 || mount_fd < 0) {
		close_fd(&proc_fd);
		close_fd(&mount_fd);
		return -EMFILE;
	}
	close_fd(&view->proc_fd);
	view->proc_fd = proc_fd;
	view_replace_mount_fd(own, mount_fd, NULL);
	view->proc_files_of_no_process = first->proc_files_of_no_process;
	view->first_view = first;
	return 0;
}

/*
 * Whether a mount of the second view shows what is in this directory by a name that is not the directory's own, so that
 * a write there would not go to the layer. *ret_same: the mount is of the directory itself, at its own name.
 */
static bool second_view_shows_by_another_name(const struct mount *mount, const char *dir, bool *ret_same)
{
	const char *rest = path_get_rest_below(dir, mount->recorded_host_path);

	*ret_same = strcmp(mount->recorded_host_path, dir) == 0 && strcmp(mount->virt, dir) == 0;
	if (*ret_same)
		return false;
	if (path_is_below(mount->recorded_host_path, dir))
		return true;
	return rest && strcmp(mount->virt, mount->recorded_host_path) != 0;
}

/* Finds the second view's own mount of this directory. NULL: it has none. -EXDEV: one shows it by another name. */
static int second_view_find_dir(const struct view *view, const char *dir, struct mount **ret_mount,
				const char **ret_name)
{
	bool is_same;

	*ret_mount = NULL;
	for (size_t i = 0; i < view->mount_count; i++) {
		*ret_name = view->mount[i]->virt;
		if (second_view_shows_by_another_name(view->mount[i], dir, &is_same))
			return -EXDEV;
		if (is_same)
			*ret_mount = view->mount[i];
	}
	return 0;
}

/* Shows a directory of --cow at its own name as the mount of the first view does. 0 or -errno. */
static int second_view_share_layer(struct view *view, const struct mount *first, const char **ret_name)
{
	const char *dir = first->recorded_host_path;
	struct mount *own;
	int fd, r = second_view_find_dir(view, dir, &own, ret_name);

	if (r < 0)
		return r;
	fd = fcntl(first->fd, F_DUPFD_CLOEXEC, 3);
	if (fd < 0)
		return -errno;
	if (own) {
		view_replace_mount_fd(own, fd, NULL);
	} else {
		r = view_add_mount(view, dir, dir, fd, ".", 0, NULL);
		if (r < 0)
			return r;
		own = view->mount[view->mount_count - 1];
	}
	own->flags |= first->flags & (MOUNT_OVERLAY | MOUNT_WORKSPACE_COPY);
	own->layer = first->layer;
	own->workspace_dir = first->workspace_dir;
	own->borrows_layer = true;
	return 0;
}

int view_share_layers_of_first_view(struct view *view, const struct view *first, const char **ret_name)
{
	int r = 0;

	view->has_placeholders = first->has_placeholders;
	for (size_t i = 0; r == 0 && i < first->mount_count; i++)
		if (first->mount[i]->layer)
			r = second_view_share_layer(view, first->mount[i], ret_name);
	return r;
}
