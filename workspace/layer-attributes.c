/* Compares the extended attributes of entries of a layer with those of the directory. */
#include <errno.h>
#include <linux/limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "workspace/layer.h"

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
