/* Creates the files of a log. */
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/log.h"
#include "base/cleanup.h"

/*
 * Creates the file; or opens an empty one, as mktemp(1) makes it, if it belongs to the effective user, has one link,
 * and is not behind a symbolic link. Locks it, which tells audit_recover_log that the log is still being written.
 * *ret_made, also set on failure: this function created the file.
 */
int log_open_file(const char *path, bool *ret_made)
{
	_cleanup_close_ int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY, 0600);
	struct stat file;

	*ret_made = fd >= 0;
	if (fd < 0 && errno == EEXIST) {
		fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
		if (fd < 0 || fstat(fd, &file) < 0)
			return -errno;
		if (!S_ISREG(file.st_mode) || file.st_size != 0 || file.st_nlink != 1 || file.st_uid != geteuid())
			return -EEXIST;
	}
	if (fd < 0)
		return -errno;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
		return -EBUSY;
	return steal_fd(&fd);
}

int audit_make_log_file(const char *path)
{
	bool made = false;
	int fd = log_open_file(path, &made);

	if (fd < 0 && made)
		(void)unlink(path);
	return fd;
}
