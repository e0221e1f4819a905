/* Files that the supervisor keeps beside the layer of a workspace: bases.h, reads.h. */
#ifndef CALLGATE_SYSCALLS_ACCOUNT_WORKSPACE_LAYER_FILE_H
#define CALLGATE_SYSCALLS_ACCOUNT_WORKSPACE_LAYER_FILE_H

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "view/view.h"

/* Makes a file for writing. A descriptor owned by the caller, or -errno. */
static inline int layer_create_file(const struct view_layer *layer, const char *name)
{
	int fd = openat(layer->dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return -errno;
	(void)fchmod(fd, 0600); /* the umask may be that of the target */
	return fd;
}

/*
 * The same for a file of records; one that the run's setup has made is gone on with. -ENOSPC: the setup could not write
 * all of its records, so that later ones might count for files that had them.
 */
static inline int layer_open_records(const struct view_layer *layer, const char *name)
{
	int fd = layer_create_file(layer, name);
	struct stat st;

	if (fd != -EEXIST)
		return fd;
	fd = openat(layer->dir_fd, name, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) == 0 && !(st.st_mode & S_ISVTX) && lseek(fd, 0, SEEK_END) >= 0)
		return fd;
	(void)close(fd);
	return -ENOSPC;
}

#endif
