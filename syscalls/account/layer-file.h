/* Files that the supervisor keeps beside the layer of a workspace: bases.h, reads.h. */
#ifndef CALLGATE_SYSCALLS_ACCOUNT_LAYER_FILE_H
#define CALLGATE_SYSCALLS_ACCOUNT_LAYER_FILE_H

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "view/view.h"

/* Makes a file for writing, flags: O_APPEND or 0. A descriptor owned by the caller, or -errno. */
static inline int layer_create_file(const struct view_layer *layer, const char *name, int flags)
{
	int fd = openat(layer->dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | flags, 0600);

	if (fd < 0)
		return -errno;
	(void)fchmod(fd, 0600); /* the umask may be that of the target */
	return fd;
}

#endif
