/*
 * What the view hides inside of what it shows - denied names, the scratch space, foreign procfs - is hidden from the
 * kernel's own resolution too, under something empty. Names that come to be later, and globs, are left to the
 * supervisor.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mounts.h"
#include "base/path.h"
#include "policy/paths/below.h"
#include "view/private.h"

#include "base/banned.h"

struct cover {
	int tmpfs_fd, root_fd;
	int dir_fd, file_fd; /* empty ones, which nobody may open; -1: nothing was covered yet */
};

static int make_empty(struct cover *cover)
{
	if (mkdirat(cover->tmpfs_fd, VIEW_EMPTY_NAME, 0) < 0 ||
	    mknodat(cover->tmpfs_fd, VIEW_EMPTY_NAME "-file", S_IFREG, 0) < 0)
		return -errno;
	cover->dir_fd = openat(cover->tmpfs_fd, VIEW_EMPTY_NAME, O_PATH | O_DIRECTORY | O_CLOEXEC);
	cover->file_fd = openat(cover->tmpfs_fd, VIEW_EMPTY_NAME "-file", O_PATH | O_CLOEXEC);
	return cover->dir_fd < 0 || cover->file_fd < 0 ? -errno : 0;
}

/* What is not there, or leads elsewhere by a link, needs no cover. */
static int cover_one(void *ctx, const char *path)
{
	struct cover *cover = ctx;
	_cleanup_close_ int point = -1, copy = -1;
	struct stat st;
	int r;

	/* /proc is the supervisor's own source of what it knows about the run. */
	if (path[1] == '\0' || path_below(path, "/proc"))
		return 0;
	point = openat2_call(cover->root_fd, path + 1, O_PATH | O_NOFOLLOW, 0,
			     RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
	if (point < 0 || fstat(point, &st) < 0 || S_ISLNK(st.st_mode))
		return 0;
	r = cover->dir_fd < 0 ? make_empty(cover) : 0;
	if (r < 0)
		return r;
	copy = mounts_clone_as(S_ISDIR(st.st_mode) ? cover->dir_fd : cover->file_fd, "",
			       MOUNTS_READ_ONLY | MOUNTS_NO_DEVICES | MOUNTS_NO_SETID);
	return copy < 0 ? copy : mounts_attach(copy, point, "");
}

/* Of the holes one holds mounts that have names elsewhere in the view: exec and chdir go through it. */
static bool is_to_cover(const struct node *node)
{
	return !node->mount && !node->link && strcmp(node->virt, VIEW_MORE_PATH) != 0;
}

int view_cover(const struct view *view, int tmpfs_fd, int root_fd)
{
	struct cover cover = {.tmpfs_fd = tmpfs_fd, .root_fd = root_fd, .dir_fd = -1, .file_fd = -1};
	int r = 0;

	for (unsigned i = 0; r == 0 && i < VIEW_BUCKETS; i++)
		for (const struct node *node = view->bucket[i]; node && r == 0; node = node->next)
			if (is_to_cover(node))
				r = cover_one(&cover, node->virt);
	if (r == 0)
		r = policy_each_deny(view->policy, cover_one, &cover);
	cleanup_close(&cover.dir_fd);
	cleanup_close(&cover.file_fd);
	return r;
}
