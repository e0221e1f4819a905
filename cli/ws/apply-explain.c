/* Why callgate ws apply could not apply a change, where the error of the system call does not say it. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/path.h"
#include "cli/ws/apply-private.h"

/* True for an entry of the directory that chattr(1) has made immutable or append-only. */
static bool explain_is_immutable(const struct workspace_layer *layer, const char *path)
{
	_cleanup_close_ int fd = workspace_open_entry(layer->base_fd, path);
	struct statx status;

	return fd >= 0 && statx(fd, "", AT_EMPTY_PATH, STATX_TYPE, &status) == 0 &&
	       status.stx_attributes & (STATX_ATTR_IMMUTABLE | STATX_ATTR_APPEND);
}

/* True for a directory of another user that may not be written. */
static bool explain_is_of_another(const struct workspace_layer *layer, const char *dir)
{
	_cleanup_close_ int fd = workspace_open_entry(layer->base_fd, dir);
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 && st.st_uid != geteuid() &&
	       faccessat(AT_FDCWD, io_proc_fd_path(fd).path, W_OK | X_OK, AT_EACCESS) < 0;
}

/* Why the caller may not make a change (static). NULL: it is not known. */
static const char *explain_rights(const struct workspace_layer *layer, const struct workspace_change *change)
{
	char dir[PATH_MAX];
	const char *name;

	if (path_split(change->path, dir, &name) < 0)
		return NULL;
	if (S_ISCHR(change->upper.mode) || S_ISBLK(change->upper.mode))
		return "devices are not applied";
	if (change->base.exists && explain_is_immutable(layer, change->path))
		return "it is immutable or append-only: chattr -i -a lets it be changed";
	if (explain_is_immutable(layer, dir))
		return "its directory is immutable or append-only: chattr -i -a lets it be changed";
	if (explain_is_of_another(layer, dir))
		return "its directory is another user's, and may not be written";
	if (S_ISDIR(change->base.mode) && explain_is_of_another(layer, change->path))
		return "it is another user's directory, and may not be written";
	if (geteuid() != 0 && change->upper.exists && change->upper.uid != geteuid())
		return "it has another owner, and only root can give files away";
	return NULL;
}

/* True for an entry with extended attributes, where the file system has room for files. */
static bool explain_is_attributes(const struct workspace_layer *layer, const struct workspace_change *change)
{
	_cleanup_close_ int fd = workspace_open_entry(layer->upper_fd, change->path);
	struct statvfs room;

	return fd >= 0 && listxattr(io_proc_fd_path(fd).path, NULL, 0) > 0 && fstatvfs(layer->base_fd, &room) == 0 &&
	       room.f_bavail > change->upper.size / room.f_frsize + 16 && (room.f_files == 0 || room.f_favail > 0);
}

const char *apply_explain(const struct workspace_layer *layer, const struct workspace_change *change, int error)
{
	const char *why = NULL;

	if (error == -EXDEV)
		return "something is mounted at it or above it, below the directory: unmount that, and apply again";
	if (error == -EPERM || error == -EACCES)
		why = explain_rights(layer, change);
	if (error == -ENOSPC && change->upper.exists && explain_is_attributes(layer, change))
		why = "the file system has no room for so many or such large extended attributes";
	return why ? why : strerror(-error);
}
