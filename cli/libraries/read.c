#include "cli/libraries/read.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/io.h"

char *package_read_file(int dirfd, const char *path, size_t cap)
{
	_cleanup_close_ int fd = openat2_retry(dirfd, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0, IO_RESOLVE_BELOW);
	struct stat status;
	char *text = NULL;
	size_t len;

	if (fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) || io_read_fd(fd, cap, &text, &len) < 0)
		return NULL;
	return text;
}

DIR *package_open_dir(int dirfd, const char *path)
{
	return io_take_dir_stream(openat2_retry(dirfd, path, O_RDONLY | O_DIRECTORY, 0, IO_RESOLVE_BELOW));
}
