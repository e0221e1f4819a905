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
#include "policy/paths/below.h"
#include "view/attach-names.h"
#include "view/overlay.h"

/* An overlay takes about 0.1 ms. */
#define NAMES_OVERLAYS_MAX 16u
#define NAMES_WRITABLE_MAX 32u

/* What a mount finds at its path. */
struct names_lack {
	const struct mount *inner;
	size_t dir_len; /* length of the part of its path that is a directory; 0: the mount lacks nothing */
	bool differs;   /* the next name exists there, but it cannot be mounted over */
};

struct names_state {
	const struct attach_names *names;
	struct names_lack *lack; /* one for each inner mount */
	unsigned made;           /* overlays */
	struct overlays host;    /* the mount points that were there before */
};

static bool names_can_mount_over(const struct stat *st, bool is_directory, bool last)
{
	return is_directory ? S_ISDIR(st->st_mode) : last && !S_ISDIR(st->st_mode);
}

/* Finds the deepest directory on the path of a mount. What cannot be looked at lacks nothing that could be added. */
static struct names_lack names_find_lack(const struct attach_names *names, const struct mount *inner)
{
	struct view_prefix prefix = view_begin_prefixes(inner->virt, inner->virt_len);
	struct names_lack lack = {.inner = inner};
	size_t before = names->outer->virt_len;

	while (view_extend_prefix(&prefix)) {
		const bool last = prefix.len == inner->virt_len;
		_cleanup_free_ char *path = strndup(inner->virt, prefix.len);
		_cleanup_close_ int fd = -1;
		struct stat st;

		if (prefix.len <= names->outer->virt_len)
			continue;
		fd = path ? openat2_call(names->root_fd, path + 1, O_PATH | O_NOFOLLOW, 0, IO_RESOLVE_BELOW) : -ENOMEM;
		if (fd < 0 && fd != -ENOENT)
			return lack;
		lack.differs = fd >= 0;
		if (fd < 0 || fstat(fd, &st) < 0 ||
		    !names_can_mount_over(&st, !last || !(inner->flags & MOUNT_FILE), last)) {
			lack.dir_len = before;
			return lack;
		}
		before = prefix.len;
	}
	return lack;
}

/* True when the path of one directory is that of another or above it. */
static bool names_is_dir_above(const struct names_lack *above, const struct names_lack *below)
{
	return above->dir_len > 0 && above->dir_len <= below->dir_len &&
	       memcmp(above->inner->virt, below->inner->virt, above->dir_len) == 0 &&
	       (above->dir_len == below->dir_len || below->inner->virt[above->dir_len] == '/');
}

/*
 * Gives a directory of the layer the owner and mode of the host's at this path: of two directories, the program sees
 * the attributes of the first. False: they would let the program do more in the host's directory, because it has an
 * access control list, or an owner that a user namespace does not know.
 */
static bool names_copy_attributes(int layer_fd, int host_fd, const char *path)
{
	_cleanup_close_ int from = openat2_call(host_fd, path, O_RDONLY | O_DIRECTORY, 0, IO_RESOLVE_BELOW);
	_cleanup_close_ int to = openat2_call(layer_fd, path, O_RDONLY | O_DIRECTORY, 0, IO_RESOLVE_BELOW);
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
struct names_layer {
	int fd, host_fd;
	bool first; /* its entries are seen in place of the host's */
};

static int names_make_dir(const struct names_layer *layer, const char *path)
{
	if (mkdirat(layer->fd, path, 0755) < 0)
		return errno == EEXIST ? 0 : -errno;
	return !layer->first || names_copy_attributes(layer->fd, layer->host_fd, path) ? 0 : -EPERM;
}

/* Makes the entry for a mount, and the directories above it. rest: its path in the layer. */
static int names_make_entry(const struct names_layer *layer, const char *rest, bool is_file)
{
	char path[PATH_MAX];
	int r = 0;

	(void)snprintf(path, sizeof(path), "%s", rest);
	for (char *slash = strchr(path, '/'); r == 0 && slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		r = names_make_dir(layer, path);
		*slash = '/';
	}
	if (r < 0 || !is_file)
		return r < 0 ? r : names_make_dir(layer, path);
	return mknodat(layer->fd, path, S_IFREG | 0444, 0) < 0 && errno != EEXIST ? -errno : 0;
}

/* Makes the layer with the names that a directory lacks. 0 or -errno. */
static int names_fill_layer(const struct names_state *state, const struct names_lack *dir, struct names_layer *layer)
{
	const struct attach_names *names = state->names;
	char path[sizeof(VIEW_NAMES_NAME) + 64];
	int r;

	if (mkdirat(names->tmpfs_fd, VIEW_NAMES_NAME, 0755) < 0 && errno != EEXIST)
		return -errno;
	(void)snprintf(path, sizeof(path), "%s/%zu-%zu", VIEW_NAMES_NAME, names->index, (size_t)(dir - state->lack));
	if (mkdirat(names->tmpfs_fd, path, 0755) < 0)
		return -errno;
	layer->fd = openat(names->tmpfs_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (layer->fd < 0)
		return -errno;
	for (size_t i = 0; i < names->inners; i++)
		layer->first = layer->first || (state->lack[i].differs && names_is_dir_above(dir, &state->lack[i]));
	r = !layer->first || names_copy_attributes(layer->fd, layer->host_fd, ".") ? 0 : -EPERM;
	for (size_t i = 0; r == 0 && i < names->inners; i++)
		if (names_is_dir_above(dir, &state->lack[i]))
			r = names_make_entry(layer, names->inner[i]->virt + dir->dir_len + 1,
					     names->inner[i]->flags & MOUNT_FILE);
	return r;
}

/* ---- what the program may write below an overlay ---- */

/* Mounts of the host's directories and files, to be attached in an overlay. */
struct names_writable {
	const struct attach_names *names;
	const char *dir; /* path of the overlay in the view */
	int host_fd;     /* its directory of the host */
	struct {
		char *rest;  /* path below dir, owned */
		int copy_fd; /* owned */
	} piece[NAMES_WRITABLE_MAX];
	unsigned pieces;
};

static void names_release_writable(struct names_writable *writable)
{
	for (unsigned i = 0; i < writable->pieces; i++) {
		free(writable->piece[i].rest);
		cleanup_close(&writable->piece[i].copy_fd);
	}
}

/* True when a piece has this path, or one above. */
static bool names_is_in_piece(const struct names_writable *writable, const char *rest)
{
	for (unsigned i = 0; i < writable->pieces; i++) {
		const size_t len = strlen(writable->piece[i].rest);

		if (strncmp(rest, writable->piece[i].rest, len) == 0 && (rest[len] == '/' || rest[len] == '\0'))
			return true;
	}
	return false;
}

/* True for a path at or below an inner mount, which shows something else than the outer one. */
static bool names_is_in_inner(const struct attach_names *names, const char *path)
{
	for (size_t i = 0; i < names->inners; i++)
		if (path_is_below(path, names->inner[i]->virt))
			return true;
	return false;
}

/* Copies the mount of a path in which the program may write. What does not exist yet: of the directory above it. */
static int names_copy_writable(void *ctx, const char *path)
{
	struct names_writable *writable = ctx;
	_cleanup_free_ char *rest = strdup(path_rest_below(path, writable->dir));
	_cleanup_close_ int fd = -1, copy = -1;
	char *slash;

	if (!rest)
		return -ENOMEM;
	if (names_is_in_inner(writable->names, path))
		return 0;
	while ((fd = openat2_call(writable->host_fd, rest, O_PATH | O_NOFOLLOW, 0, IO_RESOLVE_BELOW)) == -ENOENT) {
		slash = strrchr(rest, '/');
		if (!slash)
			return -EROFS; /* the program may make a name in the directory itself */
		*slash = '\0';
	}
	if (fd < 0 || names_is_in_piece(writable, rest))
		return fd < 0 ? fd : 0;
	if (writable->pieces == NAMES_WRITABLE_MAX)
		return -E2BIG;
	copy = mounts_clone_tree(fd, "");
	if (copy < 0)
		return copy;
	writable->piece[writable->pieces].copy_fd = steal_fd(&copy);
	writable->piece[writable->pieces++].rest = steal_pointer(&rest);
	return 0;
}

static int names_attach_writable(const struct names_writable *writable, int overlay_fd)
{
	int r = 0;

	for (unsigned i = 0; r == 0 && i < writable->pieces; i++) {
		_cleanup_close_ int point = openat2_call(overlay_fd, writable->piece[i].rest, O_PATH | O_NOFOLLOW, 0,
							 IO_RESOLVE_BELOW);

		r = point < 0 ? point : mounts_attach_copy(writable->piece[i].copy_fd, point, "");
	}
	return r;
}

/* ---- overlays ---- */

/* Makes the overlay for a directory. A descriptor; -EROFS: the directory cannot have one; or -errno. */
static int names_make_overlay(const struct names_state *state, const struct names_lack *dir,
			      struct names_writable *writable)
{
	const struct attach_names *names = state->names;
	const struct mount *outer = names->outer;
	const unsigned flags = view_get_mount_restrictions(names->view, outer->flags, outer->host_path, outer->virt);
	struct names_layer layer = {.fd = -1, .host_fd = writable->host_fd};
	int r = policy_visit_writable_below(names->view->policy, writable->dir, names_copy_writable, writable);
	_cleanup_close_ int layer_fd = -1, overlay = -1;

	if (r < 0)
		return r == -ENOMEM ? r : -EROFS;
	r = names_fill_layer(state, dir, &layer);
	layer_fd = layer.fd;
	if (r < 0)
		return r == -EPERM ? -EROFS : r;
	overlay = mounts_create_union(layer.first ? layer.fd : writable->host_fd,
				      layer.first ? writable->host_fd : layer.fd, flags);
	return overlay < 0 ? -EROFS : steal_fd(&overlay);
}

/* Mounts the overlay over a directory, if it can have one. 0 or -errno. */
static int names_mount_overlay(const struct names_state *state, const struct names_lack *dir, const char *path)
{
	const struct attach_names *names = state->names;
	_cleanup_close_ int overlay = -1;
	_cleanup_close_ int host =
		openat2_call(names->root_fd, path + 1, O_RDONLY | O_DIRECTORY, 0, IO_RESOLVE_BELOW);
	struct names_writable writable = {.names = names, .dir = path, .host_fd = host};
	int r;

	if (host < 0)
		return 0;
	overlay = names_make_overlay(state, dir, &writable);
	r = overlay < 0 ? overlay : mounts_attach_copy(overlay, host, "");
	if (r == 0)
		r = names_attach_writable(&writable, overlay);
	names_release_writable(&writable);
	if (r == 0 && dir->dir_len == names->outer->virt_len) {
		cleanup_close(names->ret_fd);
		*names->ret_fd = steal_fd(&overlay);
	}
	return r == -EROFS && overlay < 0 ? 0 : r;
}

static int names_add_to_dir(struct names_state *state, const struct names_lack *dir)
{
	_cleanup_free_ char *path = strndup(dir->inner->virt, dir->dir_len), *attached = NULL;
	int r = state->host.points == 0 ? overlays_read_mount_points(&state->host) : 0;

	if (!path || asprintf(&attached, "/%s%s", VIEW_ROOT_NAME, path) < 0) {
		attached = NULL; /* asprintf(3) leaves it undefined on failure */
		return -ENOMEM;
	}
	/* An overlay would show the directories below these mounts. */
	if (r < 0 || overlays_has_mount_below(&state->host, attached))
		return r;
	if (policy_may_write_in(state->names->view->policy, path) || state->made == NAMES_OVERLAYS_MAX)
		return 0;
	state->made++;
	return names_mount_overlay(state, dir, path);
}

/* True when the overlay for another mount, in the same directory or one above it, will have the name of this one. */
static bool names_other_has_dir(const struct names_state *state, size_t index)
{
	const struct names_lack *lack = &state->lack[index];

	for (size_t i = 0; i < state->names->inners; i++)
		if (i != index && names_is_dir_above(&state->lack[i], lack) &&
		    (state->lack[i].dir_len < lack->dir_len || i < index))
			return true;
	return false;
}

int attach_names_add(const struct attach_names *names)
{
	struct names_state state = {.names = names, .host = OVERLAYS_NONE};
	int r = 0;

	state.lack = calloc(names->inners, sizeof(*state.lack));
	if (!state.lack)
		return -ENOMEM;
	for (size_t i = 0; i < names->inners; i++)
		state.lack[i] = names_find_lack(names, names->inner[i]);
	for (size_t i = 0; r == 0 && i < names->inners; i++)
		if (state.lack[i].dir_len > 0 && !names_other_has_dir(&state, i))
			r = names_add_to_dir(&state, &state.lack[i]);
	overlays_release(&state.host);
	free(state.lack);
	return r;
}
