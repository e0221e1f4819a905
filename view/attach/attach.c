/*
 * Makes the view the tree of mounts that the kernel resolves paths in: bind mounts at the paths of the skeleton, and
 * the root of the program. The supervisor calls this once, in a mount namespace of its own, before the program starts.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mounts.h"
#include "base/path.h"
#include "base/text.h"
#include "view/attach/names.h"
#include "view/attach/private.h"

/* True when a look-up of the virtual path finds this mount: of two mounts at one path the first counts. */
static bool attach_is_first_at_path(const struct view *view, const struct mount *mount)
{
	const struct view_node *node;

	if (mount->virt_len == 1)
		return mount == view->top;
	node = view_find_node(view, mount->virt, mount->virt_len, view_hash_path(mount->virt, mount->virt_len));
	return node && node->mount == mount;
}

/* A descriptor of the detached procfs, without setuid programs. */
static int attach_copy_proc(int proc_fd)
{
	_cleanup_close_ int copy = fcntl(proc_fd, F_DUPFD_CLOEXEC, 3);
	int r = copy < 0 ? -errno : mounts_restrict_copy(copy, MOUNTS_NO_SETID);

	return r < 0 ? r : steal_fd(&copy);
}

/* Makes a detached copy of a mount, unless it has one. An object that has vanished meanwhile stays absent. */
static int attach_copy_mount(struct attach_state *attach, struct attach_mount_state *mount_state, int proc_fd)
{
	struct mount *mount = mount_state->mount;

	if (!attach_is_first_at_path(attach->view, mount)) {
		close_fd(&mount->copy_fd);
		return 0;
	}
	mount_state->is_skeleton_file = mount->flags & MOUNT_SKELETON_FILE;
	mount_state->mount_owns_copy_fd = mount->flags & MOUNT_DETACHED;
	if (mount_state->is_skeleton_file)
		return 0;
	if (mount->flags & MOUNT_PROC)
		mount_state->copy_fd = attach_copy_proc(proc_fd);
	else if (mount_state->mount_owns_copy_fd)
		mount_state->copy_fd = mount->fd;
	else if (mount->copy_fd >= 0)
		mount_state->copy_fd = steal_fd(&mount->copy_fd);
	else
		mount_state->copy_fd = mounts_clone_restricted(
			mount->fd, mount->path_below_fd,
			view_get_mount_restrictions(attach->view, mount->flags, mount->host_path, mount->virt));
	return mount_state->copy_fd < 0 && mount_state->copy_fd != -ENOENT
		       ? attach_note_failure(attach, mount_state->copy_fd, "copy a mount")
		       : 0;
}

static int attach_compare_depths(const void *a, const void *b)
{
	const struct attach_mount_state *one = a, *other = b;
	const struct mount *left = one->mount, *right = other->mount;

	return (left->virt_len > right->virt_len) - (left->virt_len < right->virt_len);
}

/* Lists the mounts, parents first, and makes a detached copy of each. */
static int attach_copy_mounts(struct attach_state *attach, int proc_fd)
{
	const struct view *view = attach->view;
	int r = 0;

	attach->mount_state = calloc(view->mount_count, sizeof(*attach->mount_state));
	if (!attach->mount_state)
		return attach_note_failure(attach, -ENOMEM, "list the mounts");
	for (size_t i = 0; i < view->mount_count; i++)
		if (view->mount[i] != view->skeleton_mount)
			attach->mount_state[attach->mount_state_count++] =
				(struct attach_mount_state){.mount = view->mount[i], .copy_fd = -1};
	qsort(attach->mount_state, attach->mount_state_count, sizeof(*attach->mount_state), attach_compare_depths);
	for (size_t i = 0; r == 0 && i < attach->mount_state_count; i++)
		r = attach_copy_mount(attach, &attach->mount_state[i], proc_fd);
	return r;
}

/*
 * Makes the directory for mounts that cannot be attached at their virtual path, because the tree around it, which is
 * the host's, lacks that name. The directory is a covered name in the view's own /dev, where the kernel can reach it
 * for exec and chdir. When the policy grants the host's /dev, the directory lies outside of the program's root.
 */
static int attach_make_dir_for_pathless_mounts(struct attach_state *attach)
{
	struct view *view = attach->view;
	struct place place;
	bool inside = view_locate_path(view, NULL, "/", VIEW_PATHLESS_MOUNTS_DIR_PATH, 0, &place) == 0 &&
		      place.mount == view->skeleton_mount;
	int dirfd = inside ? view->skeleton_mount->fd : attach->tmpfs_fd;
	const char *name = inside ? &VIEW_PATHLESS_MOUNTS_DIR_PATH[1] : VIEW_PATHLESS_MOUNTS_DIR_NAME;

	if (mkdirat(dirfd, name, 0755) < 0)
		return attach_note_failure(attach, -errno, "make a place for a mount");
	attach->pathless_mounts_dir = inside ? VIEW_PATHLESS_MOUNTS_DIR_PATH : "/" VIEW_PATHLESS_MOUNTS_DIR_NAME;
	attach->pathless_mounts_fd =
		openat2_retry(inside ? attach->root_fd : dirfd, name, O_PATH | O_DIRECTORY, 0, IO_RESOLVE_BELOW);
	if (attach->pathless_mounts_fd < 0)
		return attach_note_failure(attach, attach->pathless_mounts_fd, "open a place for a mount");
	return inside && view_add_node(view, VIEW_PATHLESS_MOUNTS_DIR_PATH, NULL, NULL) < 0
		       ? attach_note_failure(attach, -ENOMEM, "hide mounts")
		       : 0;
}

/* Attaches a mount that the kernel cannot show at its virtual path, at another place. */
static int attach_mount_without_virtual_path(struct attach_state *attach, struct attach_mount_state *mount_state,
					     size_t index)
{
	struct mount *mount = mount_state->mount;
	char name[32], *host = NULL;
	int r = attach->pathless_mounts_fd < 0 ? attach_make_dir_for_pathless_mounts(attach) : 0;

	if (r < 0)
		return r;
	(void)snprintf(name, sizeof(name), "%zu", index);
	if (mount->flags & MOUNT_OF_SINGLE_FILE)
		r = mknodat(attach->pathless_mounts_fd, name, S_IFREG | 0444, 0);
	else
		r = mkdirat(attach->pathless_mounts_fd, name, 0755);
	if (r == 0)
		host = text_format("%s/%s", attach->pathless_mounts_dir, name);
	if (!host)
		return attach_note_failure(attach, -errno, "make a place for a mount");
	free(mount->host_path);
	mount->host_path = host;
	mount->host_path_len = strlen(host);
	mount_state->has_no_virtual_path = true;
	r = mounts_attach_copy(mount_state->copy_fd, attach->pathless_mounts_fd, name);
	return r < 0 ? attach_note_failure(attach, r, "mount at another place") : 0;
}

/* True when every ancestor of a mount is a directory of the skeleton, so that no link is on the way. */
static bool attach_parents_are_skeleton(const struct view *view, const struct mount *mount)
{
	struct view_prefix prefix = view_begin_prefixes(mount->virt, mount->virt_len);

	if (view->top != view->skeleton_mount)
		return false;
	while (view_extend_prefix(&prefix) && prefix.len < mount->virt_len)
		if (view_find_node(view, mount->virt, prefix.len, view_get_prefix_hash(&prefix)) ||
		    !view_skeleton_has_dir(view, mount->virt, prefix.len))
			return false;
	return true;
}

/* Attaches a mount's copy at its virtual path, or elsewhere where that is impossible. */
static int attach_mount(struct attach_state *attach, struct attach_mount_state *mount_state, size_t index)
{
	const struct mount *mount = mount_state->mount;
	_cleanup_close_ int point = -1;
	struct stat st;
	int r;

	if (mount_state->copy_fd < 0 || mount->virt_len == 1)
		return 0;
	if (attach_parents_are_skeleton(attach->view, mount) &&
	    mounts_attach_copy(mount_state->copy_fd, attach->root_fd, mount->virt + 1) == 0)
		return 0;
	point = openat2_retry(attach->root_fd, mount->virt + 1, O_PATH | O_NOFOLLOW, 0, IO_RESOLVE_BELOW);
	if (point < 0 || fstat(point, &st) < 0 || S_ISDIR(st.st_mode) == !!(mount->flags & MOUNT_OF_SINGLE_FILE))
		return attach_mount_without_virtual_path(attach, mount_state, index);
	r = mounts_attach_copy(mount_state->copy_fd, point, "");
	return r < 0 ? attach_note_failure(attach, r, "mount in the program's root") : 0;
}

/* True when `outer`, which is not the skeleton, is the innermost mount that contains `mount`. */
static bool attach_is_inner_mount(const struct view *view, const struct mount *mount, const struct mount *outer)
{
	struct place place = {.virt_len = mount->virt_len};

	memcpy(place.virt, mount->virt, mount->virt_len + 1);
	view_drop_last_component(&place);
	return view_set_mount_of_place(view, &place) == 0 && place.mount == outer;
}

/* Adds the names at which later mounts will be attached to a directory of the host that was attached. */
static int attach_add_names_of_inner_mounts(struct attach_state *attach, struct attach_mount_state *mount_state)
{
	const struct mount **inner;
	struct attach_missing_names names = {
		.view = attach->view,
		.outer = mount_state->mount,
		.tmpfs_fd = attach->tmpfs_fd,
		.unique_number_of_outer = (size_t)(mount_state - attach->mount_state),
		.root_fd = attach->root_fd,
		.ret_outer_root_fd = mount_state->mount_owns_copy_fd ? &mount_state->mount->fd : &mount_state->copy_fd};
	int r = 0;

	if (mount_state->copy_fd < 0 || mount_state->has_no_virtual_path ||
	    attach->view->top != attach->view->skeleton_mount ||
	    mount_state->mount->flags & (MOUNT_OF_SINGLE_FILE | MOUNT_PROC | MOUNT_DEV_PTS | MOUNT_PRIVATE))
		return 0;
	inner = calloc(attach->mount_state_count, sizeof(*inner));
	if (!inner)
		return attach_note_failure(attach, -ENOMEM, "list the mounts in a mount");
	names.inner = inner;
	for (const struct attach_mount_state *other = mount_state;
	     other < attach->mount_state + attach->mount_state_count; other++)
		if (other->copy_fd >= 0 && path_is_below(other->mount->virt, mount_state->mount->virt) &&
		    attach_is_inner_mount(attach->view, other->mount, mount_state->mount))
			inner[names.inner_count++] = other->mount;
	if (names.inner_count)
		r = attach_add_missing_names(&names);
	free(inner);
	if (mount_state->mount_owns_copy_fd)
		mount_state->copy_fd = mount_state->mount->fd;
	return r < 0 ? attach_note_failure(attach, r, "add names to a directory") : 0;
}

/* Mounts a part of the skeleton. When the policy grants "/", only its nodes, such as /dev, show the skeleton. */
static int attach_skeleton_part(struct attach_state *attach, const struct view_node *node)
{
	_cleanup_close_ int copy = mounts_clone_tree(attach->view->skeleton_mount->fd, node->virt + 1);
	_cleanup_close_ int point =
		openat2_retry(attach->root_fd, node->virt + 1, O_PATH | O_DIRECTORY, 0, IO_RESOLVE_BELOW);
	int r = copy < 0 ? copy : point;

	if (r >= 0)
		r = mounts_attach_copy(copy, point, "");
	return r < 0 ? attach_note_failure(attach, r, "mount the view's own /dev") : 0;
}

static int attach_root_mount(struct attach_state *attach)
{
	const struct view *view = attach->view;
	int r = 0;

	if (view->top != view->skeleton_mount)
		r = mounts_attach_copy(attach->mount_state[0].copy_fd, attach->tmpfs_fd, VIEW_ROOT_DIR_NAME);
	if (r < 0)
		return attach_note_failure(attach, r, "mount the granted root");
	attach->root_fd = openat(attach->tmpfs_fd, VIEW_ROOT_DIR_NAME, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (attach->root_fd < 0)
		return attach_note_failure(attach, -errno, "open the program's root");
	for (unsigned i = 0; view->top != view->skeleton_mount && r == 0 && i < VIEW_NODE_BUCKETS; i++)
		for (const struct view_node *node = view->node_bucket[i]; node && r == 0; node = node->next)
			if (node->mount == view->skeleton_mount)
				r = attach_skeleton_part(attach, node);
	return r;
}

/* Mounts the tmpfs over "/". attach_change_root makes it the root. */
static int attach_tmpfs(struct attach_state *attach)
{
	int r = mounts_attach_copy(attach->tmpfs_fd, AT_FDCWD, "/");

	return r < 0 ? attach_note_failure(attach, r, "mount a tmpfs") : 0;
}

static int attach_all_mounts(struct attach_state *attach)
{
	int r = 0;

	if (mkdirat(attach->tmpfs_fd, VIEW_STANDINS_DIR_NAME, 0755) < 0)
		return attach_note_failure(attach, -errno, "make the program's root");
	r = attach_root_mount(attach);
	for (size_t i = 0; r == 0 && i < attach->mount_state_count; i++) {
		r = attach_mount(attach, &attach->mount_state[i], i);
		if (r == 0 && attach->for_kernel_reads)
			r = attach_add_names_of_inner_mounts(attach, &attach->mount_state[i]);
	}
	/* ".." of an injected descriptor can lead here, but provided files are reached through their mounts alone. */
	if (r == 0 && fchmodat(attach->tmpfs_fd, VIEW_PROVIDED_FILES_DIR_NAME, 0, 0) < 0 && errno != ENOENT)
		r = attach_note_failure(attach, -errno, "close the directory of provided files");
	return r;
}

/* pivot_root(2) with the same path twice stacks the old root over the new one, where it is detached. */
static int attach_change_root(struct attach_state *attach)
{
	if (fchdir(attach->tmpfs_fd) < 0 || syscall(SYS_pivot_root, ".", ".") < 0)
		return attach_note_failure(attach, -errno, "pivot_root");
	if (umount2(".", MNT_DETACH) < 0)
		return attach_note_failure(attach, -errno, "detach the old root");
	if (chroot(VIEW_ROOT_DIR_NAME) < 0 || chdir("/") < 0)
		return attach_note_failure(attach, -errno, "enter the program's root");
	return 0;
}

int view_attach_mounts(struct view *view, const struct view_attach_fds *mounts, const char **ret_what)
{
	struct attach_state attach = {.view = view,
				      .tmpfs_fd = mounts->tmpfs_fd,
				      .root_fd = -1,
				      .pathless_mounts_fd = -1,
				      .pathless_mounts_dir = "",
				      .failed_step = "",
				      .for_kernel_reads = mounts->for_kernel_reads,
				      .empty_dir_fd = -1,
				      .empty_file_fd = -1,
				      .own_proc_fd = mounts->program_proc_fd >= 0 ? mounts->proc_fd : -1};
	/* The tmpfs first: before Linux 6.15 the provided files in it can be copied only when it is attached. */
	int r = attach_tmpfs(&attach);

	if (r == 0)
		r = attach_copy_mounts(&attach,
				       mounts->program_proc_fd >= 0 ? mounts->program_proc_fd : mounts->proc_fd);
	view->host_root_fd = fcntl(mounts->host_root_fd, F_DUPFD_CLOEXEC, 3);
	if (r == 0 && view->host_root_fd < 0)
		r = -errno;
	if (r == 0)
		r = attach_all_mounts(&attach);
	if (r == 0)
		r = attach_change_root(&attach);
	if (r == 0)
		r = attach_reopen_mounts(&attach);
	if (r == 0 && !attach.for_kernel_reads) /* else view_prepare_kernel_reads() covers these names and more */
		r = attach_cover_names(&attach);
	if (r == 0)
		attach_make_nosymfollow_copy(&attach);
	for (size_t i = 0; i < attach.mount_state_count; i++)
		if (!attach.mount_state[i].mount_owns_copy_fd)
			cleanup_close(&attach.mount_state[i].copy_fd);
	free(attach.mount_state);
	cleanup_close(&attach.root_fd);
	cleanup_close(&attach.pathless_mounts_fd);
	cleanup_close(&attach.empty_dir_fd);
	cleanup_close(&attach.empty_file_fd);
	*ret_what = attach.failed_step;
	return r;
}

bool view_is_attached(const struct view *view)
{
	return view->is_attached;
}
