/* io_rename_new: gives an entry a name that nothing has. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"

bool io_error_means_no_rename_flags(int error)
{
	return error == -EINVAL || error == -ENOSYS || error == -EOPNOTSUPP;
}

/* Gives a directory, or anything else by a link, another name. 0 or -errno. */
static int rename_without_flags(int from_dirfd, const char *from, int to_dirfd, const char *to)
{
	struct stat st;

	if (fstatat(from_dirfd, from, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (S_ISDIR(st.st_mode))
		return renameat(from_dirfd, from, to_dirfd, to) < 0 ? -errno : 0;
	if (linkat(from_dirfd, from, to_dirfd, to, 0) < 0)
		return -errno;
	return unlinkat(from_dirfd, from, 0) < 0 ? -errno : 0;
}

int io_rename_new(int from_dirfd, const char *from, int to_dirfd, const char *to)
{
	const int r = renameat2(from_dirfd, from, to_dirfd, to, RENAME_NOREPLACE) < 0 ? -errno : 0;

	return io_error_means_no_rename_flags(r) ? rename_without_flags(from_dirfd, from, to_dirfd, to) : r;
}
