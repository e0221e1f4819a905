/* What an entry of a layer is, by its name, type, time and the overlay's own attributes. */
#include <errno.h>
#include <linux/limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include "base/io.h"
#include "base/times.h"
#include "workspace/layer.h"
#include "workspace/records.h"

#define LAYER_LABEL "security.selinux"

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

bool workspace_time_is_since_mount(const struct workspace_layer *layer, const struct timespec *time)
{
	if (time->tv_sec != layer->mounted.tv_sec || time->tv_nsec == 0) /* 0: a file system that has whole seconds */
		return time->tv_sec > layer->mounted.tv_sec - (time->tv_nsec == 0);
	return time->tv_nsec >= layer->mounted.tv_nsec;
}
