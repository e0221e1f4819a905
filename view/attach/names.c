/*
 * Names for mounts in granted directories of the host that lack them, such as a provided file that the host does not
 * have. The kernel can mount only at names that exist, so such a directory gets an overlay that adds them. The host's
 * directory stays as it is. The overlay is read-only: a directory in which the program may write must be the host's. A
 * directory below the overlay can be that, such as the workdir in a home directory: it is mounted in the overlay.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mounts.h"
#include "base/path.h"
#include "base/text.h"
#include "policy/paths/below.h"
#include "view/attach/names.h"
#include "view/overlay.h"

/* most overlays that add missing names; each takes about 0.1 ms at the start of the run */
#define MISSING_NAMES_OVERLAYS_MAX 16u
#define WRITABLE_MOUNTS_MAX 32u /* writable mounts below one overlay */

/* The name that the host lacks on the path of an inner mount. */
struct missing_name {
	const struct mount *inner; /* the mount that is attached at the name */
	/* length of the longest part of the mount's path that is an existing directory; 0: no name is missing */
	size_t existing_dir_len;
	bool exists_as_other_type; /* the next name exists there, but it cannot be mounted over */
};

/* The adding of names at which inner mounts are attached, to a granted directory that lacks them. */
struct missing_names_state {
	const struct attach_missing_names *names;
	struct missing_name *missing_name;   /* one for each inner mount */
	unsigned overlays_made;              /* overlays that were mounted so far */
	struct overlays mount_points_before; /* the mount points that existed before the first overlay was mounted */
};

/* Whether an existing object has the type that a mount point needs. last: it is the mount point itself. */
static bool missing_name_can_be_mounted_over(const struct stat *st, bool is_directory, bool last)
{
	return is_directory ? S_ISDIR(st->st_mode) : last && !S_ISDIR(st->st_mode);
}

/*
 * Finds the deepest existing directory on the path of a mount. Where the path cannot be examined, no name is missing.
 */
static struct missing_name missing_name_find_on_mount_path(const struct attach_missing_names *names,
							   const struct mount *inner)
{
	struct view_prefix prefix = view_begin_prefixes(inner->virt, inner->virt_len);
	struct missing_name missing = {.inner = inner};
	size_t before = names->outer->virt_len;

	while (view_extend_prefix(&prefix)) {
		const bool last = prefix.len == inner->virt_len;
		_cleanup_free_ char *path = strndup(inner->virt, prefix.len);
		_cleanup_close_ int fd = -1;
		struct stat st;

		if (prefix.len <= names->outer->virt_len)
			continue;
		fd = path ? openat2_retry(names->root_fd, path + 1, O_PATH | O_NOFOLLOW, 0, IO_RESOLVE_BELOW) : -ENOMEM;
		if (fd < 0 && fd != -ENOENT)
			return missing;
		missing.exists_as_other_type = fd >= 0;
		if (fd < 0 || fstat(fd, &st) < 0 ||
		    !missing_name_can_be_mounted_over(&st, !last || !(inner->flags & MOUNT_OF_SINGLE_FILE), last)) {
			missing.existing_dir_len = before;
			return missing;
		}
		before = prefix.len;
	}
	return missing;
}

/* True when the deepest existing directory of `above` is also that of `below`, or an ancestor of it. */
static bool missing_name_dir_contains(const struct missing_name *above, const struct missing_name *below)
{
	return above->existing_dir_len > 0 && above->existing_dir_len <= below->existing_dir_len &&
	       memcmp(above->inner->virt, below->inner->virt, above->existing_dir_len) == 0 &&
	       (above->existing_dir_len == below->existing_dir_len ||
		below->inner->virt[above->existing_dir_len] == '/');
}

/*
 * Gives a directory of the layer the owner and mode of the host's directory at the same path, because an overlayfs
 * shows the attributes of its upper directory only. False: that would let the program do more in the host's directory,
 * because it has an access control list, or an owner that a user namespace does not know.
 */
static bool overlay_layer_copy_attributes(int layer_fd, int host_fd, const char *path)
{
	_cleanup_close_ int from = openat2_retry(host_fd, path, O_RDONLY | O_DIRECTORY, 0, IO_RESOLVE_BELOW);
	_cleanup_close_ int to = openat2_retry(layer_fd, path, O_RDONLY | O_DIRECTORY, 0, IO_RESOLVE_BELOW);
	struct stat st;

	if (from == -ENOENT || from == -ENOTDIR || from == -ELOOP)
		return true; /* the host has no directory there */
	if (from < 0 || to < 0 || fstat(from, &st) < 0)
		return false;
	if (fgetxattr(from, "system.posix_acl_access", NULL, 0) >= 0 || (errno != ENODATA && errno != EOPNOTSUPP))
		return false;
	return fchown(to, st.st_uid, st.st_gid) == 0 && fchmod(to, st.st_mode & 07777) == 0;
}

/* A layer that is being made for a directory of the host. */
struct names_overlay_layer {
	int fd, host_fd;
	bool is_above_host_layer; /* its entries are seen in place of the host's */
};

/* Makes a directory in the overlay's layer, with the attributes of the host's where it hides that. */
static int overlay_layer_make_dir(const struct names_overlay_layer *layer, const char *path)
{
	if (mkdirat(layer->fd, path, 0755) < 0)
		return errno == EEXIST ? 0 : -errno;
	return !layer->is_above_host_layer || overlay_layer_copy_attributes(layer->fd, layer->host_fd, path) ? 0
													     : -EPERM;
}

/*
 * Makes an entry of the layer at which a mount can be attached, and the directories above the entry. path_in_layer: of
 * the entry.
 */
static int overlay_layer_make_entry(const struct names_overlay_layer *layer, const char *path_in_layer, bool is_file)
{
	char path[PATH_MAX];
	int r = 0;

	(void)snprintf(path, sizeof(path), "%s", path_in_layer);
	for (char *slash = strchr(path, '/'); r == 0 && slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		r = overlay_layer_make_dir(layer, path);
		*slash = '/';
	}
	if (r < 0 || !is_file)
		return r < 0 ? r : overlay_layer_make_dir(layer, path);
	return mknodat(layer->fd, path, S_IFREG | 0444, 0) < 0 && errno != EEXIST ? -errno : 0;
}

/* Makes the layer with the names that a directory lacks. 0 or -errno. */
static int overlay_layer_make(const struct missing_names_state *state, const struct missing_name *dir,
			      struct names_overlay_layer *layer)
{
	const struct attach_missing_names *names = state->names;
	char path[sizeof(VIEW_MISSING_NAMES_DIR_NAME) + 64];
	int r;

	if (mkdirat(names->tmpfs_fd, VIEW_MISSING_NAMES_DIR_NAME, 0755) < 0 && errno != EEXIST)
		return -errno;
	(void)snprintf(path, sizeof(path), "%s/%zu-%zu", VIEW_MISSING_NAMES_DIR_NAME, names->unique_number_of_outer,
		       (size_t)(dir - state->missing_name));
	if (mkdirat(names->tmpfs_fd, path, 0755) < 0)
		return -errno;
	layer->fd = openat(names->tmpfs_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (layer->fd < 0)
		return -errno;
	for (size_t i = 0; i < names->inner_count; i++)
		layer->is_above_host_layer =
			layer->is_above_host_layer || (state->missing_name[i].exists_as_other_type &&
						       missing_name_dir_contains(dir, &state->missing_name[i]));
	r = !layer->is_above_host_layer || overlay_layer_copy_attributes(layer->fd, layer->host_fd, ".") ? 0 : -EPERM;
	for (size_t i = 0; r == 0 && i < names->inner_count; i++)
		if (missing_name_dir_contains(dir, &state->missing_name[i]))
			r = overlay_layer_make_entry(layer, names->inner[i]->virt + dir->existing_dir_len + 1,
						     names->inner[i]->flags & MOUNT_OF_SINGLE_FILE);
	return r;
}

/* ---- what the program may write below an overlay ---- */

/*
 * Directories and files of the host that the program may write, such as the workdir. Copies of their mounts are
 * attached in the overlay.
 */
struct writable_mounts {
	const struct attach_missing_names *names;
	const char *overlay_path; /* path of the overlay in the view */
	int host_fd;              /* directory of the host that the overlay (overlayfs) shows with names added */
	struct {
		char *path_below_overlay; /* owned */
		int copy_fd;              /* copy of the host's mount (open_tree(2)), owned */
	} mount[WRITABLE_MOUNTS_MAX];
	unsigned mount_count; /* used entries of mount[] */
};

static void writable_mounts_release(struct writable_mounts *writable)
{
	for (unsigned i = 0; i < writable->mount_count; i++) {
		free(writable->mount[i].path_below_overlay);
		cleanup_close(&writable->mount[i].copy_fd);
	}
}

/* True when this path below the overlay is that of a mount that was added already, or lies below such a mount. */
static bool writable_mounts_have_path(const struct writable_mounts *writable, const char *path_below_overlay)
{
	for (unsigned i = 0; i < writable->mount_count; i++) {
		const char *mount_path = writable->mount[i].path_below_overlay;
		const size_t len = strlen(mount_path);

		if (strncmp(path_below_overlay, mount_path, len) == 0 &&
		    (path_below_overlay[len] == '/' || path_below_overlay[len] == '\0'))
			return true;
	}
	return false;
}

/* True for a path at or below an inner mount, which shows something else than the outer one. */
static bool missing_names_path_is_in_inner_mount(const struct attach_missing_names *names, const char *path)
{
	for (size_t i = 0; i < names->inner_count; i++)
		if (path_is_below(path, names->inner[i]->virt))
			return true;
	return false;
}

/*
 * Clones the mount of a path at or below which the program may write; if the path does not exist yet, the mount of its
 * deepest existing ancestor. -EROFS: that is the overlay's directory itself.
 */
static int writable_mounts_add_path(void *ctx, const char *path)
{
	struct writable_mounts *writable = ctx;
	_cleanup_free_ char *rest = strdup(path_get_rest_below(path, writable->overlay_path));
	_cleanup_close_ int fd = -1, copy = -1;
	char *slash;

	if (!rest)
		return -ENOMEM;
	if (missing_names_path_is_in_inner_mount(writable->names, path))
		return 0;
	while ((fd = openat2_retry(writable->host_fd, rest, O_PATH | O_NOFOLLOW, 0, IO_RESOLVE_BELOW)) == -ENOENT) {
		slash = strrchr(rest, '/');
		if (!slash)
			/* the program may make names in the directory itself, so it cannot get a read-only overlay */
			return -EROFS;
		*slash = '\0';
	}
	if (fd < 0 || writable_mounts_have_path(writable, rest))
		return fd < 0 ? fd : 0;
	if (writable->mount_count == WRITABLE_MOUNTS_MAX)
		return -E2BIG;
	copy = mounts_clone_tree(fd, "");
	if (copy < 0)
		return copy;
	writable->mount[writable->mount_count].copy_fd = steal_fd(&copy);
	writable->mount[writable->mount_count++].path_below_overlay = steal_pointer(&rest);
	return 0;
}

/* Attaches the copies of the writable mounts in the overlay that hides the originals. */
static int writable_mounts_attach(const struct writable_mounts *writable, int overlay_fd)
{
	int r = 0;

	for (unsigned i = 0; r == 0 && i < writable->mount_count; i++) {
		_cleanup_close_ int point = openat2_retry(overlay_fd, writable->mount[i].path_below_overlay,
							  O_PATH | O_NOFOLLOW, 0, IO_RESOLVE_BELOW);

		r = point < 0 ? point : mounts_attach_copy(writable->mount[i].copy_fd, point, "");
	}
	return r;
}

/* ---- overlays ---- */

/* Makes the overlay for a directory. A descriptor; -EROFS: the directory cannot have one; or -errno. */
static int missing_names_make_overlay(const struct missing_names_state *state, const struct missing_name *dir,
				      struct writable_mounts *writable)
{
	const struct attach_missing_names *names = state->names;
	const struct mount *outer = names->outer;
	const unsigned flags = view_get_mount_restrictions(names->view, outer->flags, outer->host_path, outer->virt);
	struct names_overlay_layer layer = {.fd = -1, .host_fd = writable->host_fd};
	int r = policy_visit_writable_below(names->view->policy, writable->overlay_path, writable_mounts_add_path,
					    writable);
	_cleanup_close_ int layer_fd = -1, overlay = -1;

	if (r < 0)
		return r == -ENOMEM ? r : -EROFS;
	r = overlay_layer_make(state, dir, &layer);
	layer_fd = layer.fd;
	if (r < 0)
		return r == -EPERM ? -EROFS : r;
	overlay = mounts_create_union(layer.is_above_host_layer ? layer.fd : writable->host_fd,
				      layer.is_above_host_layer ? writable->host_fd : layer.fd, flags);
	return overlay < 0 ? -EROFS : steal_fd(&overlay);
}

/* Mounts the overlay over a directory, if it can have one. 0 or -errno. */
static int missing_names_mount_overlay(const struct missing_names_state *state, const struct missing_name *dir,
				       const char *path)
{
	const struct attach_missing_names *names = state->names;
	_cleanup_close_ int overlay = -1;
	_cleanup_close_ int host = openat2_retry(names->root_fd, path + 1, O_RDONLY | O_DIRECTORY, 0, IO_RESOLVE_BELOW);
	struct writable_mounts writable = {.names = names, .overlay_path = path, .host_fd = host};
	int r;

	if (host < 0)
		return 0;
	overlay = missing_names_make_overlay(state, dir, &writable);
	r = overlay < 0 ? overlay : mounts_attach_copy(overlay, host, "");
	if (r == 0)
		r = writable_mounts_attach(&writable, overlay);
	writable_mounts_release(&writable);
	if (r == 0 && dir->existing_dir_len == names->outer->virt_len) {
		cleanup_close(names->ret_outer_root_fd);
		*names->ret_outer_root_fd = steal_fd(&overlay);
	}
	return r == -EROFS && overlay < 0 ? 0 : r;
}

/* Mounts an overlay over a directory that lacks names at which mounts are attached. */
static int missing_names_add_to_dir(struct missing_names_state *state, const struct missing_name *dir)
{
	_cleanup_free_ char *path = strndup(dir->inner->virt, dir->existing_dir_len);
	_cleanup_free_ char *attached = path ? text_format("/%s%s", VIEW_ROOT_DIR_NAME, path) : NULL;
	int r = state->mount_points_before.points == 0 ? overlays_read_mount_points(&state->mount_points_before) : 0;

	if (!attached)
		return -ENOMEM;
	/* An overlay would hide the mounts that exist below the directory. */
	if (r < 0 || overlays_has_mount_below(&state->mount_points_before, attached))
		return r;
	if (policy_may_write_in_dir(state->names->view->policy, path) ||
	    state->overlays_made == MISSING_NAMES_OVERLAYS_MAX)
		return 0;
	state->overlays_made++;
	return missing_names_mount_overlay(state, dir, path);
}

/*
 * True when the overlay made for another mount, in the same directory or one above it, will also have the missing name
 * of this one.
 */
static bool missing_name_is_added_with_another(const struct missing_names_state *state, size_t index)
{
	const struct missing_name *missing = &state->missing_name[index];

	for (size_t i = 0; i < state->names->inner_count; i++)
		if (i != index && missing_name_dir_contains(&state->missing_name[i], missing) &&
		    (state->missing_name[i].existing_dir_len < missing->existing_dir_len || i < index))
			return true;
	return false;
}

int attach_add_missing_names(const struct attach_missing_names *names)
{
	struct missing_names_state state = {.names = names, .mount_points_before = OVERLAYS_NONE};
	int r = 0;

	state.missing_name = calloc(names->inner_count, sizeof(*state.missing_name));
	if (!state.missing_name)
		return -ENOMEM;
	for (size_t i = 0; i < names->inner_count; i++)
		state.missing_name[i] = missing_name_find_on_mount_path(names, names->inner[i]);
	for (size_t i = 0; r == 0 && i < names->inner_count; i++)
		if (state.missing_name[i].existing_dir_len > 0 && !missing_name_is_added_with_another(&state, i))
			r = missing_names_add_to_dir(&state, &state.missing_name[i]);
	overlays_release(&state.mount_points_before);
	free(state.missing_name);
	return r;
}
