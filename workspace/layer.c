#include "workspace/layer.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "view/copy/fill.h"
#include "view/copy/groups.h"
#include "workspace/closed.h"
#include "workspace/records.h"

#define LAYER_TRUSTED_PREFIX "trusted.overlay."
#define LAYER_USER_PREFIX "user.overlay."
#define LAYER_GID_MAP_BYTES_MAX 4096
#define LAYER_GROUPS_MAX 65536           /* NGROUPS_MAX of the kernel */
#define LAYER_NO_PREFIX "callgate.none." /* no attribute can have such a name: the kernel knows no such kind */

/* ---- opening ---- */

/* True when this process sees attributes whose names begin with "trusted.": the kernel hides them from others. */
static bool layer_sees_trusted(int marker_fd)
{
	if (fsetxattr(marker_fd, "trusted.callgate", "", 0, 0) < 0)
		return false;
	return fremovexattr(marker_fd, "trusted.callgate") == 0;
}

/* Reads what the layer cannot have. 0 or -errno. */
static int layer_read_lost(int dir_fd, struct workspace_layer *ret_layer)
{
	size_t len = 0, room = 0;
	int r = io_read_file(dir_fd, WORKSPACE_LOST_NAME, COPY_RECORDS_BYTES_MAX, &ret_layer->lost_text, &len);

	for (size_t at = 0; r == 0 && at < len; at += strlen(ret_layer->lost_text + at) + 1) {
		if (!array_reserve(&ret_layer->lost, ret_layer->lost_count, &room))
			return -ENOMEM;
		ret_layer->lost[ret_layer->lost_count++] = ret_layer->lost_text + at;
	}
	return r == -ENOENT ? 0 : r;
}

/* Reads what was copied. 0 or -errno. */
static int layer_read_records(int dir_fd, struct workspace_layer *ret_layer)
{
	size_t len;
	int r;

	ret_layer->prefix = LAYER_NO_PREFIX;
	r = io_read_file(dir_fd, VIEW_GROUPS_NAME, LAYER_GID_MAP_BYTES_MAX, &ret_layer->gid_map, &len);
	if (r < 0 && r != -ENOENT) /* ENOENT: any group */
		return r;
	ret_layer->records = calloc(1, sizeof(*ret_layer->records));
	if (!ret_layer->records)
		return -ENOMEM;
	r = workspace_records_load(dir_fd, ret_layer->records);
	if (r < 0)
		return r == -ENOENT ? 0 : r; /* -ENOENT: the copy was not completed, so the program never ran */
	return layer_read_lost(dir_fd, ret_layer);
}

/* Finds which attributes are the overlay's own, by the file that was left when it was mounted. 0 or -errno. */
static int layer_read_kind(int dir_fd, struct workspace_layer *ret_layer, const char **ret_why)
{
	_cleanup_close_ int trusted = openat(dir_fd, "trusted", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (trusted >= 0 && fstat(trusted, &st) < 0)
		return -errno;
	if (trusted >= 0) {
		ret_layer->mounted = st.st_mtim;
		*ret_why = "only root with CAP_SYS_ADMIN can read its attributes";
		ret_layer->prefix = LAYER_TRUSTED_PREFIX;
		return layer_sees_trusted(trusted) ? 0 : -EPERM;
	}
	if (errno == ENOENT && fstatat(dir_fd, COPY_MARKER_NAME, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		ret_layer->mounted = st.st_mtim;
		*ret_why = "it does not say what was copied";
		return layer_read_records(dir_fd, ret_layer);
	}
	*ret_why = "it does not say how it was mounted";
	if (errno != ENOENT || fstatat(dir_fd, "user", &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	ret_layer->mounted = st.st_mtim;
	ret_layer->prefix = LAYER_USER_PREFIX;
	return 0;
}

int workspace_open_layer_dir(int workspace_fd, size_t at)
{
	char name[24];

	(void)snprintf(name, sizeof(name), "%zu", at);
	return io_open_dir(workspace_fd, name);
}

bool workspace_layer_exists(int workspace_fd, size_t at)
{
	static const char *const markers[] = {"trusted", "user", COPY_MARKER_NAME};
	_cleanup_close_ int layer = workspace_open_layer_dir(workspace_fd, at);

	for (size_t i = 0; layer >= 0 && i < sizeof(markers) / sizeof(markers[0]); i++)
		if (io_may_have_name(layer, markers[i]))
			return true;
	return layer < 0 && layer != -ENOENT;
}

/* Opens a layer whose entries are in directory `upper_name`. Returns as workspace_layer_open(). */
static int layer_open(int workspace_fd, size_t at, const char *upper_name, const char *dir,
		      struct workspace_layer *ret_layer, const char **ret_why)
{
	_cleanup_close_ int layer = -1, upper = -1, base = -1;
	int r;

	*ret_why = "its directory cannot be opened"; /* without which a copy has no layer yet */
	base = io_open_without_links(dir, O_RDONLY | O_DIRECTORY);
	if (base < 0)
		return base;
	*ret_why = "its layer cannot be opened";
	layer = workspace_open_layer_dir(workspace_fd, at);
	upper = layer < 0 ? layer : io_open_dir(layer, upper_name);
	if (upper < 0)
		return upper;
	r = layer_read_kind(layer, ret_layer, ret_why);
	if (r < 0) {
		workspace_layer_release(ret_layer);
		return r;
	}
	ret_layer->has_root_attributes = io_may_have_name(layer, COPY_ROOT_NAME);
	ret_layer->was_restored = io_may_have_name(layer, WORKSPACE_RESTORED_NAME);
	ret_layer->upper_fd = steal_fd(&upper);
	ret_layer->base_fd = steal_fd(&base);
	ret_layer->dir_fd = steal_fd(&layer);
	return 0;
}

/* Makes the upper layer itself readable, if the program has closed it. 0 or -errno. */
static int layer_open_closed(int workspace_fd, size_t at, const char *upper_name)
{
	_cleanup_close_ int layer = workspace_open_layer_dir(workspace_fd, at);
	_cleanup_close_ int upper = layer < 0 ? layer : workspace_open_entry(layer, upper_name);
	struct closed *closed;
	struct stat st;
	int r;

	if (upper < 0)
		return 0; /* layer_open() tells */
	if (fstat(upper, &st) < 0)
		return -errno;
	r = closed_load(layer, CLOSED_OF_LAYER, &closed);
	if (r < 0)
		return r;
	r = closed_open(closed, "", upper, &st);
	closed_free(closed);
	return r;
}

int workspace_layer_open(int workspace_fd, size_t at, const char *dir, struct workspace_layer *ret_layer,
			 const char **ret_why)
{
	int r;

	*ret_why = "the program has closed it, and it cannot be opened";
	r = layer_open_closed(workspace_fd, at, "upper");
	if (r < 0)
		return r;
	r = layer_open(workspace_fd, at, "upper", dir, ret_layer, ret_why);
	if (r < 0)
		return r;
	*ret_why = "it does not say which modes the program has left";
	r = closed_load(ret_layer->dir_fd, CLOSED_OF_LAYER, &ret_layer->closed);
	if (r < 0)
		workspace_layer_release(ret_layer);
	return r;
}

int workspace_layer_open_live(int workspace_fd, size_t at, const char *dir, struct workspace_layer *ret_layer,
			      const char **ret_why)
{
	_cleanup_close_ int layer = workspace_open_layer_dir(workspace_fd, at);
	const bool is_copy = layer >= 0 && io_may_have_name(layer, COPY_DIR_NAME);
	int r = layer_open(workspace_fd, at, is_copy ? COPY_DIR_NAME : "upper", dir, ret_layer, ret_why);

	ret_layer->is_live_copy = is_copy;
	if (r < 0 || !is_copy)
		return r;
	*ret_why = "it does not say which files have their content";
	r = fills_open(layer, ret_layer->base_fd, true, &ret_layer->fills);
	if (r == -ENOENT && !ret_layer->records->has_placeholders)
		r = 0;
	if (r < 0)
		workspace_layer_release(ret_layer);
	return r;
}

void workspace_layer_release(struct workspace_layer *layer)
{
	close_fd(&layer->base_fd);
	close_fd(&layer->upper_fd);
	close_fd(&layer->dir_fd);
	if (layer->records)
		workspace_records_release(layer->records);
	free(layer->records);
	fills_free(layer->fills);
	closed_free(layer->closed);
	free(layer->lost);
	free(layer->lost_text);
	layer->records = NULL;
	layer->fills = NULL;
	layer->closed = NULL;
	layer->lost = NULL;
	layer->lost_text = NULL;
	layer->lost_count = 0;
	free(layer->gid_map);
	layer->gid_map = NULL;
}

/* ---- groups ---- */

/* True when the map, a text as of /proc/PID/gid_map, has a number for this group. */
static bool layer_map_has_group(const char *map, gid_t gid)
{
	unsigned inside, outside, count;
	int len = 0;

	for (; sscanf(map, "%u %u %u %n", &inside, &outside, &count, &len) == 3; map += len)
		if (gid >= outside && gid - outside < count)
			return true;
	return false;
}

bool workspace_is_own_group(gid_t gid)
{
	gid_t group[LAYER_GROUPS_MAX];
	const int count = getgroups(LAYER_GROUPS_MAX, group);

	if (geteuid() == 0 || getegid() == gid)
		return true;
	for (int i = 0; i < count; i++)
		if (group[i] == gid)
			return true;
	return false;
}

bool workspace_keeps_group(const struct workspace_layer *layer, gid_t gid)
{
	return layer->gid_map && !layer_map_has_group(layer->gid_map, gid) && workspace_is_own_group(gid);
}

int workspace_open_entry(int root_fd, const char *path)
{
	return openat2_retry(root_fd, *path ? path : ".", O_PATH | O_NOFOLLOW, 0, IO_RESOLVE_BELOW | RESOLVE_NO_XDEV);
}

int workspace_open_content(int path_fd)
{
	struct stat st;

	if (fstat(path_fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return -EINVAL;
	return io_open_keeping_atime(AT_FDCWD, io_proc_fd_path(path_fd).path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
}

int workspace_stat_upper(const struct workspace_layer *layer, int upper_fd, struct stat *ret_status)
{
	if (fstat(upper_fd, ret_status) < 0)
		return -errno;
	closed_fix_status(layer->closed, ret_status);
	return 0;
}

/* ---- the directory itself ---- */

/* Whether the roots differ in mode or, with has_root_attributes, in owner or attributes. 1, 0 or -errno. */
static int layer_compare_roots(const struct workspace_layer *layer)
{
	struct stat base, upper;
	int r;

	if (fstat(layer->base_fd, &base) < 0 || fstat(layer->upper_fd, &upper) < 0)
		return -errno;
	if (base.st_mode != upper.st_mode)
		return 1;
	if (!layer->has_root_attributes)
		return 0;
	if (base.st_uid != upper.st_uid || base.st_gid != upper.st_gid)
		return 1;
	r = workspace_compare_attributes(layer, layer->base_fd, layer->upper_fd);
	return r == -ENOSYS ? 0 : r; /* the keeper may compare their names only */
}

int workspace_layer_root_is_changed(int workspace_fd, size_t at, const char *dir)
{
	_cleanup_workspace_layer_ struct workspace_layer layer = WORKSPACE_LAYER_INIT;
	bool is_trusted;

	layer.dir_fd = workspace_open_layer_dir(workspace_fd, at);
	if (layer.dir_fd < 0)
		return layer.dir_fd == -ENOENT ? 0 : layer.dir_fd;
	is_trusted = io_may_have_name(layer.dir_fd, "trusted");
	layer.prefix = is_trusted ? LAYER_TRUSTED_PREFIX : LAYER_USER_PREFIX;
	layer.has_root_attributes = io_may_have_name(layer.dir_fd, COPY_ROOT_NAME);
	if (is_trusted || io_may_have_name(layer.dir_fd, "user"))
		layer.upper_fd = io_open_dir(layer.dir_fd, "upper");
	else if (io_may_have_name(layer.dir_fd, COPY_RECORDS_NAME) && io_may_have_name(layer.dir_fd, COPY_DIR_NAME))
		layer.upper_fd = io_open_dir(layer.dir_fd, COPY_DIR_NAME);
	else
		return 0; /* it was never mounted, or the copy was not completed */
	layer.base_fd = io_open_without_links(dir, O_RDONLY | O_DIRECTORY);
	return layer.upper_fd < 0 ? layer.upper_fd : layer.base_fd < 0 ? layer.base_fd : layer_compare_roots(&layer);
}
