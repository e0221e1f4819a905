#include "workspace/layer.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/times.h"
#include "view/copy/fill.h"
#include "view/copy/groups.h"
#include "workspace/closed.h"
#include "workspace/records.h"

#define LAYER_TRUSTED_PREFIX "trusted.overlay."
#define LAYER_USER_PREFIX "user.overlay."
#define LAYER_LABEL "security.selinux"
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

/* ---- the overlay's own marks ---- */

bool workspace_is_whiteout(const struct stat *upper)
{
	return S_ISCHR(upper->st_mode) && upper->st_rdev == makedev(0, 0);
}

bool workspace_is_removed(const struct workspace_layer *layer, const struct stat *upper)
{
	if (!layer->records)
		return workspace_is_whiteout(upper);
	return upper->st_mode == WORKSPACE_WHITEOUT_MODE && upper->st_size == 0 &&
	       times_compare(&upper->st_mtim, &layer->mounted) == 0;
}

int workspace_is_opaque(const struct workspace_layer *layer, int upper_fd)
{
	const struct io_proc_fd_path link = io_proc_fd_path(upper_fd);
	char name[32], value = '\0';

	(void)snprintf(name, sizeof(name), "%sopaque", layer->prefix);
	if (getxattr(link.path, name, &value, 1) < 0)
		return errno == ENODATA || errno == EOPNOTSUPP ? 0 : -errno;
	return value == 'y';
}

bool workspace_has_origin(const struct workspace_layer *layer, const char *path, int upper_fd)
{
	const struct io_proc_fd_path link = io_proc_fd_path(upper_fd);
	char name[32];

	if (layer->records)
		return workspace_records_find(layer->records, path) ||
		       workspace_records_have_file(layer->records, upper_fd);
	(void)snprintf(name, sizeof(name), "%sorigin", layer->prefix);
	return getxattr(link.path, name, NULL, 0) >= 0 || (errno != ENODATA && errno != EOPNOTSUPP);
}

bool workspace_is_same_file(const struct workspace_layer *layer, const char *path, int upper_fd)
{
	return layer->records ? workspace_records_have_file(layer->records, upper_fd)
			      : workspace_has_origin(layer, path, upper_fd);
}

static int layer_compare_lost(const void *path, const void *lost)
{
	return strcmp(path, *(const char *const *)lost);
}

bool workspace_is_lost(const struct workspace_layer *layer, const char *path)
{
	return layer->lost_count > 0 &&
	       bsearch(path, layer->lost, layer->lost_count, sizeof(*layer->lost), layer_compare_lost);
}

const char *workspace_get_shown_attribute(const struct workspace_layer *layer, const char *name, char *out)
{
	static const char escape[] = "overlay.";
	const size_t len = strlen(layer->prefix);

	if (strncmp(name, layer->prefix, len) != 0 || strncmp(name + len, escape, strlen(escape)) != 0)
		return NULL;
	(void)snprintf(out, XATTR_NAME_MAX + 1, "%s%s", layer->prefix, name + len + strlen(escape));
	return out;
}

bool workspace_is_hidden_attribute(const struct workspace_layer *layer, const char *name)
{
	return workspace_is_own_attribute(layer, name) && strcmp(name, LAYER_LABEL) != 0;
}

bool workspace_is_own_attribute(const struct workspace_layer *layer, const char *name)
{
	const size_t len = strlen(layer->prefix);

	if (strncmp(name, layer->prefix, len) == 0) /* "user.overlay.overlay.x": the program set "user.overlay.x" */
		return strncmp(name + len, "overlay.", strlen("overlay.")) != 0;
	if (strncmp(name, "trusted.", strlen("trusted.")) == 0) /* no program of a run can see or set them */
		return true;
	return strcmp(name, LAYER_LABEL) == 0; /* SELinux labels files by where they are */
}

/* ---- extended attributes ---- */

/*
 * Reads the names of all attributes: strings, each with its NUL. By the descriptor itself unless that is of O_PATH: the
 * keeper's own filter allows no more. The length, or -errno; 0 where there are none.
 */
static ssize_t layer_list_attributes(int fd, char ret_names[XATTR_LIST_MAX])
{
	const struct io_proc_fd_path link = io_proc_fd_path(fd);
	ssize_t len = flistxattr(fd, ret_names, XATTR_LIST_MAX);

	if (len < 0 && errno == EBADF)
		len = listxattr(link.path, ret_names, XATTR_LIST_MAX);
	if (len < 0 && errno == EOPNOTSUPP)
		return 0;
	return len < 0 ? -errno : len;
}

/* True for a name of the overlay's. *unknown becomes true when the entry is one whose content is elsewhere. */
static bool layer_is_own_attribute(const struct workspace_layer *layer, const char *name, bool *unknown)
{
	const size_t len = strlen(layer->prefix);

	if (strncmp(name, layer->prefix, len) == 0 &&
	    (strcmp(name + len, "redirect") == 0 || strcmp(name + len, "metacopy") == 0))
		*unknown = true;
	return workspace_is_own_attribute(layer, name);
}

/*
 * Whether an attribute has another value, or is missing. 1, 0, or -errno. *same_names: counts those that the directory
 * has by this name. values: room for two of XATTR_SIZE_MAX.
 */
static int layer_compare_attribute(const struct workspace_layer *layer, int base_fd, int upper_fd, const char *name,
				   char *values, size_t *same_names)
{
	const struct io_proc_fd_path base = io_proc_fd_path(base_fd), upper = io_proc_fd_path(upper_fd);
	ssize_t base_len = getxattr(base.path, name, values, XATTR_SIZE_MAX), upper_len;
	char shown[XATTR_NAME_MAX + 1];

	*same_names += base_len >= 0;
	if (base_len < 0 && errno == ENODATA && workspace_get_shown_attribute(layer, name, shown))
		base_len = getxattr(base.path, shown, values, XATTR_SIZE_MAX);
	if (base_len < 0)
		return errno == ENODATA || errno == EOPNOTSUPP ? 1 : -errno;
	upper_len = getxattr(upper.path, name, values + XATTR_SIZE_MAX, XATTR_SIZE_MAX);
	if (upper_len < 0)
		return errno == ENODATA || errno == EOPNOTSUPP ? 1 : -errno;
	return base_len != upper_len || memcmp(values, values + XATTR_SIZE_MAX, (size_t)base_len) != 0;
}

/* Counts the attributes that are not the overlay's. -EUCLEAN as workspace_compare_attributes(). */
static int layer_count_attributes(const struct workspace_layer *layer, const char *names, size_t len, size_t *ret_count)
{
	bool unknown = false;
	size_t count = 0;

	for (size_t at = 0; at < len; at += strlen(names + at) + 1)
		count += !layer_is_own_attribute(layer, names + at, &unknown);
	*ret_count = count;
	return unknown ? -EUCLEAN : 0;
}

int workspace_compare_attributes(const struct workspace_layer *layer, int base_fd, int upper_fd)
{
	_cleanup_free_ char *names = malloc(2 * XATTR_LIST_MAX), *values = NULL;
	size_t base_count = 0, upper_count = 0, same_names = 0;
	ssize_t len, base_len;
	bool unknown;
	int r;

	if (!names)
		return -ENOMEM;
	len = layer_list_attributes(upper_fd, names);
	r = len < 0 ? (int)len : layer_count_attributes(layer, names, (size_t)len, &upper_count);
	if (r < 0 || base_fd < 0)
		return r;
	base_len = layer_list_attributes(base_fd, names + XATTR_LIST_MAX);
	if (base_len < 0)
		return (int)base_len;
	/* The directory itself may have been an overlay's: what has the prefix there is not shown by this one. */
	(void)layer_count_attributes(layer, names + XATTR_LIST_MAX, (size_t)base_len, &base_count);
	if (base_count > upper_count || upper_count == 0)
		return base_count > upper_count;
	values = malloc(2 * (size_t)XATTR_SIZE_MAX);
	if (!values)
		return -ENOMEM;
	for (ssize_t at = 0; r == 0 && at < len; at += (ssize_t)strlen(names + at) + 1)
		if (!layer_is_own_attribute(layer, names + at, &unknown))
			r = layer_compare_attribute(layer, base_fd, upper_fd, names + at, values, &same_names);
	return r == 0 ? same_names != base_count : r;
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

bool workspace_time_is_since_mount(const struct workspace_layer *layer, const struct timespec *time)
{
	if (time->tv_sec != layer->mounted.tv_sec || time->tv_nsec == 0) /* 0: a file system that has whole seconds */
		return time->tv_sec > layer->mounted.tv_sec - (time->tv_nsec == 0);
	return time->tv_nsec >= layer->mounted.tv_nsec;
}
