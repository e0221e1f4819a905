/* Mounts empty objects over covered and denied names. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/mounts.h"
#include "base/path.h"
#include "policy/paths/below.h"
#include "view/attach/private.h"

/* Makes the directory and the file, mode 0, that are mounted over denied names. */
static int attach_make_empty_objects(struct attach_state *attach)
{
	if (mkdirat(attach->tmpfs_fd, VIEW_EMPTY_OBJECTS_DIR_NAME, 0) < 0 ||
	    mknodat(attach->tmpfs_fd, VIEW_EMPTY_OBJECTS_DIR_NAME "-file", S_IFREG, 0) < 0)
		return -errno;
	attach->empty_dir_fd = openat(attach->tmpfs_fd, VIEW_EMPTY_OBJECTS_DIR_NAME, O_PATH | O_DIRECTORY | O_CLOEXEC);
	attach->empty_file_fd = openat(attach->tmpfs_fd, VIEW_EMPTY_OBJECTS_DIR_NAME "-file", O_PATH | O_CLOEXEC);
	return attach->empty_dir_fd < 0 || attach->empty_file_fd < 0 ? -errno : 0;
}

/* Covers one path, unless it does not exist or is a symbolic link: then nothing needs a cover. */
static int attach_cover_path(void *ctx, const char *path)
{
	struct attach_state *attach = ctx;
	_cleanup_close_ int point = -1, copy = -1;
	struct stat st;
	int r;

	/* /proc cannot be covered: the supervisor itself reads it. */
	if (path[1] == '\0' || path_is_below(path, "/proc"))
		return 0;
	/* Most names that profiles deny do not exist: finding that out takes half the time of trying to open them. */
	if (fstatat(attach->root_fd, path + 1, &st, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT)
		return 0;
	point = openat2_retry(attach->root_fd, path + 1, O_PATH | O_NOFOLLOW, 0, IO_RESOLVE_BELOW);
	if (point < 0 || fstat(point, &st) < 0 || S_ISLNK(st.st_mode))
		return 0;
	r = attach->empty_dir_fd < 0 ? attach_make_empty_objects(attach) : 0;
	if (r < 0)
		return r;
	copy = mounts_clone_restricted(S_ISDIR(st.st_mode) ? attach->empty_dir_fd : attach->empty_file_fd, "",
				       MOUNTS_READ_ONLY | MOUNTS_NO_DEVICES | MOUNTS_NO_SETID);
	return copy < 0 ? copy : mounts_attach_copy(copy, point, "");
}

/* Covers a path that the policy denies, unless an answer may permit it there: view_share_layers_of_first_view(). */
static int attach_cover_denied_path(void *ctx, const char *path)
{
	struct attach_state *attach = ctx;
	struct place place;

	if (attach->view->shares_layers_with_second_view &&
	    view_locate_path(attach->view, NULL, "/", path, 0, &place) == 0 && place.mount->layer)
		return 0;
	return attach_cover_path(attach, path);
}

int attach_cover_names(struct attach_state *attach)
{
	const struct view *view = attach->view;
	int r = 0;

	for (unsigned i = 0; r == 0 && i < VIEW_NODE_BUCKETS; i++)
		for (const struct view_node *node = view->node_bucket[i]; node && r == 0; node = node->next)
			/*
			 * Not VIEW_PATHLESS_MOUNTS_DIR_PATH: the kernel must reach the mounts below it, for exec and
			 * chdir.
			 */
			if (node_is_covered(node) && strcmp(node->virt, VIEW_PATHLESS_MOUNTS_DIR_PATH) != 0)
				r = attach_cover_path(attach, node->virt);
	if (r == 0)
		r = policy_visit_denied_paths(view->policy, attach_cover_denied_path, attach);
	return r < 0 ? attach_note_failure(attach, r, "cover what is denied") : 0;
}
