/* Reading and writing the small files of a control group. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "confine/cgroup-private.h"

#include "base/banned.h"

int cgroup_put(int dirfd, const char *name, const char *value)
{
	_cleanup_close_ int fd = openat(dirfd, name, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	return write(fd, value, strlen(value)) < 0 ? -errno : 0;
}

int cgroup_get(int dirfd, const char *name, char *text, size_t size)
{
	_cleanup_close_ int fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? -1 : read(fd, text, size - 1);

	if (len < 0)
		return -errno;
	text[len] = '\0';
	return 0;
}

uint64_t cgroup_number(const char *text, const char *key)
{
	size_t len = key ? strlen(key) : 0;

	if (!key)
		return strtoull(text, NULL, 10);
	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		/* NOLINT(clang-analyzer-core*): text ends with a NUL */
		if (strncmp(line, key, len) == 0 && line[len] == ' ')
			return strtoull(line + len, NULL, 10);
	}
	return 0;
}
