/* The view made real: bind mounts on the skeleton's names, and the program's root put there. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mounts.h"
#include "view/attach.h"

#include "base/banned.h"

/* True when the mount is what its name leads to: of two for one name the first one counts. */
static bool is_shown(const struct view *view, const struct mount *mount)
{
	const struct node *node;

	if (mount->virt_len == 1)
		return mount == view->top;
	node = view_node(view, mount->virt, mount->virt_len, view_hash(mount->virt, mount->virt_len));
	return node && node->mount == mount;
}

static int copy_proc(int proc_fd)
{
	_cleanup_close_ int copy = fcntl(proc_fd, F_DUPFD_CLOEXEC, 3);
	int r = copy < 0 ? -errno : mounts_restrict(copy, MOUNTS_NO_SETID);

	return r < 0 ? r : steal_fd(&copy);
}

/* A copy of what the mount shows, if none was made when the view was built. What has vanished meanwhile stays absent. */
static int copy_piece(struct attach *attach, struct piece *piece, int proc_fd)
{
	struct mount *mount = piece->mount;

	if (!is_shown(attach->view, mount)) {
		cleanup_close(&mount->copy_fd);
		mount->copy_fd = -1;
		return 0;
	}
	piece->own = mount->flags & MOUNT_OWN;
	piece->kept = mount->flags & MOUNT_COPY;
	if (piece->own)
		return 0;
	if (mount->flags & MOUNT_PROC)
		piece->copy_fd = copy_proc(proc_fd);
	else if (piece->kept)
		piece->copy_fd = mount->fd;
	else if (mount->copy_fd >= 0)
		piece->copy_fd = steal_fd(&mount->copy_fd);
	else
		piece->copy_fd = mounts_clone_as(mount->fd, mount->base,
						 view_restrictions(attach->view, mount->flags, mount->host, mount->virt));
	return piece->copy_fd < 0 && piece->copy_fd != -ENOENT ? attach_failed(attach, piece->copy_fd, "copy a mount") : 0;
}

static int by_depth(const void *a, const void *b)
{
	const struct mount *left = ((const struct piece *)a)->mount, *right = ((const struct piece *)b)->mount;

	return (left->virt_len > right->virt_len) - (left->virt_len < right->virt_len);
}

static int copy_all(struct attach *attach, int proc_fd)
{
	const struct view *view = attach->view;
	int r = 0;

	attach->piece = calloc(view->mounts, sizeof(*attach->piece));
	if (!attach->piece)
		return attach_failed(attach, -ENOMEM, "list the mounts");
	for (size_t i = 0; i < view->mounts; i++)
		if (view->mount[i] != view->root)
			attach->piece[attach->pieces++] = (struct piece){.mount = view->mount[i], .copy_fd = -1};
	qsort(attach->piece, attach->pieces, sizeof(*attach->piece), by_depth);
	for (size_t i = 0; r == 0 && i < attach->pieces; i++)
		r = copy_piece(attach, &attach->piece[i], proc_fd);
	return r;
}

/*
 * A directory for what has no place of its own: in the view's own /dev, where exec and chdir can be led to it, and
 * where a hole hides it from everything else. When /dev is granted it is outside of the program's root.
 */
static int make_more(struct attach *attach)
{
	struct view *view = attach->view;
	struct place place;
	bool inside = view_locate(view, NULL, "/", VIEW_MORE_PATH, 0, &place) == 0 && place.mount == view->root;
	int dirfd = inside ? view->root->fd : attach->tmpfs_fd;
	const char *name = inside ? &VIEW_MORE_PATH[1] : VIEW_MORE_NAME;

	if (mkdirat(dirfd, name, 0755) < 0)
		return attach_failed(attach, -errno, "make a place for a mount");
	attach->more = inside ? VIEW_MORE_PATH : "/" VIEW_MORE_NAME;
	attach->more_fd = inside ? openat2_call(attach->root_fd, name, O_PATH | O_DIRECTORY, 0, RESOLVE_STRICT)
				 : openat2_call(dirfd, name, O_PATH | O_DIRECTORY, 0, RESOLVE_STRICT);
	if (attach->more_fd < 0)
		return attach_failed(attach, attach->more_fd, "open a place for a mount");
	return inside && view_add_node(view, VIEW_MORE_PATH, NULL, NULL) < 0 ? attach_failed(attach, -ENOMEM, "hide mounts")
									     : 0;
}

static int attach_elsewhere(struct attach *attach, struct piece *piece, size_t index)
{
	struct mount *mount = piece->mount;
	char name[32], *host = NULL;
	int r = attach->more_fd < 0 ? make_more(attach) : 0;

	if (r < 0)
		return r;
	(void)snprintf(name, sizeof(name), "%zu", index);
	if (mount->flags & MOUNT_FILE)
		r = mknodat(attach->more_fd, name, S_IFREG | 0444, 0);
	else
		r = mkdirat(attach->more_fd, name, 0755);
	if (r < 0 || asprintf(&host, "%s/%s", attach->more, name) < 0)
		return attach_failed(attach, -errno, "make a place for a mount");
	free(mount->host);
	mount->host = host;
	mount->host_len = strlen(host);
	piece->elsewhere = true;
	r = mounts_attach(piece->copy_fd, attach->more_fd, name);
	return r < 0 ? attach_failed(attach, r, "mount at another place") : 0;
}

/* Whether all above the name is the skeleton's: directories that were made for this, and no link. */
static bool in_skeleton(const struct view *view, const struct mount *mount)
{
	struct view_prefix prefix = view_prefixes(mount->virt, mount->virt_len);

	if (view->top != view->root)
		return false;
	while (view_longer(&prefix) && prefix.len < mount->virt_len)
		if (view_node(view, mount->virt, prefix.len, view_prefix_hash(&prefix)) ||
		    !view_shows(view, mount->virt, prefix.len))
			return false;
	return true;
}

static int attach_piece(struct attach *attach, struct piece *piece, size_t index)
{
	const struct mount *mount = piece->mount;
	_cleanup_close_ int point = -1;
	struct stat st;
	int r;

	if (piece->copy_fd < 0 || mount->virt_len == 1)
		return 0;
	if (in_skeleton(attach->view, mount) && mounts_attach(piece->copy_fd, attach->root_fd, mount->virt + 1) == 0)
		return 0;
	point = openat2_call(attach->root_fd, mount->virt + 1, O_PATH | O_NOFOLLOW, 0, RESOLVE_STRICT);
	if (point < 0 || fstat(point, &st) < 0 || S_ISLNK(st.st_mode) ||
	    S_ISDIR(st.st_mode) == !!(mount->flags & MOUNT_FILE))
		return attach_elsewhere(attach, piece, index);
	r = mounts_attach(piece->copy_fd, point, "");
	return r < 0 ? attach_failed(attach, r, "mount in the program's root") : 0;
}

/* Below a grant of "/" the skeleton shows only where the view says so: at /dev. */
static int attach_skeleton_part(struct attach *attach, const struct node *node)
{
	_cleanup_close_ int copy = mounts_clone(attach->view->root->fd, node->virt + 1);
	_cleanup_close_ int point =
		openat2_call(attach->root_fd, node->virt + 1, O_PATH | O_DIRECTORY, 0, RESOLVE_STRICT);
	int r = copy < 0 ? copy : point;

	if (r >= 0)
		r = mounts_attach(copy, point, "");
	return r < 0 ? attach_failed(attach, r, "mount the view's own /dev") : 0;
}

static int attach_top(struct attach *attach)
{
	const struct view *view = attach->view;
	int r = 0;

	if (view->top != view->root)
		r = mounts_attach(attach->piece[0].copy_fd, attach->tmpfs_fd, VIEW_ROOT_NAME);
	if (r < 0)
		return attach_failed(attach, r, "mount the granted root");
	attach->root_fd = openat(attach->tmpfs_fd, VIEW_ROOT_NAME, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (attach->root_fd < 0)
		return attach_failed(attach, -errno, "open the program's root");
	for (unsigned i = 0; view->top != view->root && r == 0 && i < VIEW_BUCKETS; i++)
		for (const struct node *node = view->bucket[i]; node && r == 0; node = node->next)
			if (node->mount == view->root)
				r = attach_skeleton_part(attach, node);
	return r;
}

/* The tmpfs goes over the old root, which is about to be left. */
static int attach_all(struct attach *attach)
{
	int r = mounts_attach(attach->tmpfs_fd, AT_FDCWD, "/");

	if (r < 0)
		return attach_failed(attach, r, "mount a tmpfs");
	if (mkdirat(attach->tmpfs_fd, VIEW_STANDIN_NAME, 0755) < 0)
		return attach_failed(attach, -errno, "make the program's root");
	r = attach_top(attach);
	for (size_t i = 0; r == 0 && i < attach->pieces; i++)
		r = attach_piece(attach, &attach->piece[i], i);
	return r;
}

/* pivot_root(2): with both names the same, the old root ends up on top of the new one, and goes. */
static int change_root(struct attach *attach)
{
	if (fchdir(attach->tmpfs_fd) < 0 || syscall(SYS_pivot_root, ".", ".") < 0)
		return attach_failed(attach, -errno, "pivot_root");
	if (umount2(".", MNT_DETACH) < 0)
		return attach_failed(attach, -errno, "detach the old root");
	if (chroot(VIEW_ROOT_NAME) < 0 || chdir("/") < 0)
		return attach_failed(attach, -errno, "enter the program's root");
	return 0;
}

/*
 * A second copy of the program's root, in which the kernel follows no link: a name asked about there is the object that
 * the strict openat2 finds, at one call instead of three. Whoever cannot have it opens everything.
 */
static void copy_still(struct attach *attach)
{
	struct view *view = attach->view;
	_cleanup_close_ int copy = mounts_clone_as(attach->root_fd, "", MOUNTS_NO_LINKS);

	if (copy < 0)
		return;
	/* Beside the program's root, out of its reach: all goes at once then, by itself it would wait for RCU once more. */
	if (mkdirat(attach->tmpfs_fd, VIEW_STILL_NAME, 0700) == 0)
		(void)mounts_attach(copy, attach->tmpfs_fd, VIEW_STILL_NAME); /* else it goes when it is closed */
	view->still_fd = steal_fd(&copy);
	if (view->top == view->root)
		view->root->flags |= MOUNT_STILL;
	for (size_t i = 0; i < attach->pieces; i++) {
		const struct piece *piece = &attach->piece[i];

		/* A name of /proc is whatever its reader is. What has its place elsewhere has no name in the root. */
		if ((piece->copy_fd >= 0 || piece->own) && !piece->elsewhere && !(piece->mount->flags & MOUNT_PROC))
			piece->mount->flags |= MOUNT_STILL;
	}
}

int view_attach(struct view *view, const struct view_mounts *mounts, const char **ret_what)
{
	struct attach attach = {
		.view = view, .tmpfs_fd = mounts->tmpfs_fd, .root_fd = -1, .more_fd = -1, .more = "", .what = "",
		.own_proc_fd = mounts->program_proc_fd >= 0 ? mounts->proc_fd : -1};
	int r = copy_all(&attach, mounts->program_proc_fd >= 0 ? mounts->program_proc_fd : mounts->proc_fd);

	view->host_root_fd = fcntl(mounts->host_root_fd, F_DUPFD_CLOEXEC, 3);
	if (view->host_root_fd < 0)
		r = -errno;
	if (r == 0)
		r = attach_all(&attach);
	if (r == 0)
		r = change_root(&attach);
	if (r == 0)
		r = view_rebase(&attach);
	if (r == 0 && (r = view_cover(view, attach.tmpfs_fd, attach.root_fd)) < 0)
		attach.what = "cover what is denied";
	if (r == 0)
		copy_still(&attach);
	for (size_t i = 0; i < attach.pieces; i++)
		if (!attach.piece[i].kept)
			cleanup_close(&attach.piece[i].copy_fd);
	free(attach.piece);
	cleanup_close(&attach.root_fd);
	cleanup_close(&attach.more_fd);
	*ret_what = attach.what;
	return r;
}

bool view_is_root(const struct view *view)
{
	return view->attached;
}
