#include "view/copy/leftover.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"

int leftover_note(int layer_fd, const char *path)
{
	_cleanup_close_ int fd =
		openat(layer_fd, LEFTOVER_NAME, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return -errno;
	(void)fchmod(fd, 0600); /* the umask may be that of the target */
	return io_write_all(fd, path, strlen(path));
}

void leftover_forget(int layer_fd)
{
	(void)unlinkat(layer_fd, LEFTOVER_NAME, 0);
}

bool leftover_is_noted(int layer_fd)
{
	return faccessat(layer_fd, LEFTOVER_NAME, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Removes the entry at a path. 0 or -errno. */
static int leftover_remove_entry(int top_fd, const char *path)
{
	const char *slash = strrchr(path, '/');
	_cleanup_close_ int parent = -1;
	char dir[PATH_MAX];

	if ((size_t)snprintf(dir, sizeof(dir), "%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".") >=
	    sizeof(dir))
		return -ENAMETOOLONG;
	parent = openat2_retry(top_fd, dir, O_RDONLY | O_DIRECTORY, 0, IO_RESOLVE_BELOW);
	return parent < 0 ? parent : io_remove_tree(parent, slash ? slash + 1 : path);
}

int leftover_remove(int layer_fd, int top_fd)
{
	_cleanup_free_ char *path = NULL;
	size_t len = 0;
	int r = io_read_file(layer_fd, LEFTOVER_NAME, PATH_MAX, &path, &len);

	if (r == 0 && len > 0) /* else it was killed before it had noted the path */
		r = leftover_remove_entry(top_fd, path);
	/* The program has moved or replaced its directory, or it was removed before the note was. */
	if (r == -ENOENT || r == -ENOTDIR || r == -ELOOP)
		r = 0;
	if (r == 0)
		leftover_forget(layer_fd);
	return r;
}
