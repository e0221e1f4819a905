#include "workspace/place.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"

/* ---- extended attributes ---- */

/* True when the attribute is in a list of names. */
static bool place_has_name(const char *names, ssize_t len, const char *name)
{
	for (ssize_t at = 0; at < len; at += (ssize_t)strlen(names + at) + 1)
		if (strcmp(names + at, name) == 0)
			return true;
	return false;
}

/* Reads the names of all attributes. The length, or -errno. */
static ssize_t place_list_attributes(const char *link, char *names)
{
	const ssize_t len = listxattr(link, names, XATTR_LIST_MAX);

	return len < 0 && errno != EOPNOTSUPP ? -errno : len < 0 ? 0 : len;
}

/* The names of the attributes of an entry that the new one replaces; len 0: there is none. */
struct place_old_names {
	const char *names;
	ssize_t len;
};

/*
 * The name that an attribute of the layer gets. In the directory, what the program has set as "user.overlay.x" has that
 * name, unless the old entry has it by the name that the layer has. shown: room for XATTR_NAME_MAX + 1.
 */
static const char *place_get_new_name(const struct workspace_layer *layer, const char *name, unsigned flags,
				      const struct place_old_names *old, char *shown)
{
	const char *found = NULL;

	if (flags & PLACE_IN_OVERLAY || (flags & PLACE_IN_BASE && !place_has_name(old->names, old->len, name)))
		found = workspace_get_shown_attribute(layer, name, shown);
	return found ? found : name;
}

/* Gives an entry an attribute of another one, with a name. value: room for XATTR_SIZE_MAX. 0 or -errno. */
static int place_copy_attribute(const char *from, const char *name, const char *to, const char *new_name, char *value)
{
	const ssize_t len = getxattr(from, name, value, XATTR_SIZE_MAX);

	if (len < 0)
		return -errno;
	return setxattr(to, new_name, value, (size_t)len, 0) < 0 ? -errno : 0;
}

/* Whether an attribute is copied, by its name. flags: PLACE_* */
static bool place_copies_attribute(const struct workspace_layer *layer, const char *name, unsigned flags)
{
	return !workspace_is_own_attribute(layer, name) ||
	       (flags & PLACE_OWN_ATTRIBUTES && strncmp(name, layer->prefix, strlen(layer->prefix)) == 0);
}

/* Whether an attribute that the other entry lacks is removed, by its name. flags: PLACE_* */
static bool place_removes_attribute(const struct workspace_layer *layer, const char *name, unsigned flags)
{
	return !workspace_is_own_attribute(layer, name) ||
	       (flags & PLACE_IN_OVERLAY && strncmp(name, layer->prefix, strlen(layer->prefix)) == 0);
}

/*
 * Gives a new entry what the old one has that the program could not see, so that it is not in the layer. What the
 * program has set by such a name stays.
 */
static int place_keep_attributes(const struct workspace_layer *layer, const char *old_path,
				 const struct place_old_names *old, const char *to, char *value)
{
	int r = 0;

	for (ssize_t at = 0; r == 0 && at < old->len; at += (ssize_t)strlen(old->names + at) + 1) {
		const char *name = old->names + at;

		if (workspace_is_hidden_attribute(layer, name) && getxattr(to, name, NULL, 0) < 0)
			r = place_copy_attribute(old_path, name, to, name, value);
	}
	return r;
}

#define PLACE_BUFFER_SIZE (3 * XATTR_LIST_MAX + XATTR_SIZE_MAX) /* room for three lists of names, and a value */

/*
 * Makes the extended attributes of an entry those of another one. old_path: the entry that it replaces, or NULL. 0 or
 * -errno.
 */
static int place_copy_attributes(const struct workspace_layer *layer, const char *from, const char *to,
				 const char *old_path, unsigned flags, char *buffer)
{
	char *const names = buffer, *const there = buffer + XATTR_LIST_MAX, *const replaced = there + XATTR_LIST_MAX;
	char *const value = replaced + XATTR_LIST_MAX;
	char shown[XATTR_NAME_MAX + 1];
	const ssize_t len = place_list_attributes(from, names);
	const ssize_t there_len = len < 0 ? len : place_list_attributes(to, there);
	const ssize_t old_len = there_len < 0 ? there_len : old_path ? place_list_attributes(old_path, replaced) : 0;
	const struct place_old_names old = {replaced, old_len};
	int r = 0;

	if (old_len < 0)
		return (int)old_len;
	for (ssize_t at = 0; r == 0 && at < there_len; at += (ssize_t)strlen(there + at) + 1)
		if (place_removes_attribute(layer, there + at, flags) && !place_has_name(names, len, there + at) &&
		    removexattr(to, there + at) < 0 && errno != ENODATA)
			r = -errno;
	for (ssize_t at = 0; r == 0 && at < len; at += (ssize_t)strlen(names + at) + 1)
		if (place_copies_attribute(layer, names + at, flags))
			r = place_copy_attribute(from, names + at, to,
						 place_get_new_name(layer, names + at, flags, &old, shown), value);
	return r < 0 ? r : place_keep_attributes(layer, old_path, &old, to, value);
}

/*
 * Makes owner, mode and extended attributes of an entry those of another one; all open with O_PATH. old_fd: the entry
 * that it replaces, or -1. The owner first: chown(2) takes set-id bits and capabilities. 0 or -errno.
 */
static int place_copy_all(const struct workspace_layer *layer, int upper_fd, int fd, int old_fd, unsigned flags)
{
	_cleanup_free_ char *buffer = malloc(PLACE_BUFFER_SIZE);
	const struct io_proc_fd_path from = io_proc_fd_path(upper_fd), to = io_proc_fd_path(fd);
	const struct io_proc_fd_path old = io_proc_fd_path(old_fd);
	struct stat upper, st;
	int r;

	if (!buffer)
		return -ENOMEM;
	r = workspace_stat_upper(layer, upper_fd, &upper);
	if (r < 0 || fstat(fd, &st) < 0)
		return r < 0 ? r : -errno;
	if ((upper.st_uid != st.st_uid || upper.st_gid != st.st_gid) &&
	    fchownat(fd, "", upper.st_uid, upper.st_gid, AT_EMPTY_PATH) < 0 && !(flags & PLACE_AS_OWN))
		return -errno;
	r = place_copy_attributes(layer, from.path, to.path, old_fd < 0 ? NULL : old.path, flags, buffer);
	if (r < 0 || S_ISLNK(upper.st_mode))
		return r;
	return chmod(to.path, upper.st_mode & 07777) < 0 ? -errno : 0;
}

/* Sets the times of an entry as they are in the layer; both open with O_PATH. 0 or -errno. */
static int place_copy_times(int upper_fd, int fd)
{
	struct stat st;

	if (fstat(upper_fd, &st) < 0)
		return -errno;
	return utimensat(AT_FDCWD, io_proc_fd_path(fd).path, (const struct timespec[2]){st.st_atim, st.st_mtim}, 0) < 0
		       ? -errno
		       : 0;
}

int place_copy_metadata(const struct workspace_layer *layer, int from_fd, int fd, int old_fd, unsigned flags)
{
	int r = place_copy_all(layer, from_fd, fd, old_fd, flags);

	return r < 0 ? r : place_copy_times(from_fd, fd);
}
