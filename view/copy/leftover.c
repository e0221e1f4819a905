#include "view/copy/leftover.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"

int leftover_note(int layer_fd, const char *path)
{
	_cleanup_close_ int fd =
		openat(layer_fd, LEFTOVER_NAME, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	int r;

	if (fd < 0)
		return -errno;
	(void)fchmod(fd, 0600); /* the umask may be that of the target */
	r = io_write_all(fd, path, strlen(path));
	if (r < 0) /* the disk is full: what there is of the path may be that of another entry */
		leftover_forget(layer_fd);
	return r;
}

void leftover_forget(int layer_fd)
{
	(void)unlinkat(layer_fd, LEFTOVER_NAME, 0);
}

bool leftover_is_noted(int layer_fd)
{
	return io_may_have_name(layer_fd, LEFTOVER_NAME);
}

/* Whether a name is one of those that are made. */
static bool leftover_has_name(const char *name)
{
	const size_t len = strlen(LEFTOVER_RESTORE_PREFIX);

	if (strcmp(name, LEFTOVER_LINK_NAME) == 0)
		return true;
	return strncmp(name, LEFTOVER_RESTORE_PREFIX, len) == 0 && strlen(name + len) == LEFTOVER_RESTORE_DIGITS &&
	       strspn(name + len, "0123456789abcdef") == LEFTOVER_RESTORE_DIGITS;
}

/* Removes the entry at a path. 0 or -errno. */
static int leftover_remove_entry(int top_fd, const char *path)
{
	const char *name;
	_cleanup_close_ int parent = io_open_parent_below(top_fd, path, O_RDONLY, 0, &name);

	if (parent < 0)
		return parent;
	return leftover_has_name(name) ? io_remove_tree(parent, name) : 0;
}

int leftover_remove(int layer_fd, int top_fd)
{
	_cleanup_free_ char *path = NULL;
	size_t len = 0;
	int r = io_read_file(layer_fd, LEFTOVER_NAME, PATH_MAX, &path, &len);

	if (r == 0 && len > 0) /* else it was killed before it had noted the path */
		r = leftover_remove_entry(top_fd, path);
	/* The program has moved or replaced its directory, or it was removed before the note was; or it is above. */
	if (r == -ENOENT || r == -ENOTDIR || r == -ELOOP || r == -EXDEV)
		r = 0;
	if (r == 0)
		leftover_forget(layer_fd);
	return r;
}
