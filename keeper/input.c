#include "keeper/input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"

#include "base/banned.h"

static int input_set_error(struct policy_error *ret_error, const char *path, int error, const char *what)
{
	(void)snprintf(ret_error->text, sizeof(ret_error->text), "--input %s: %s", path,
		       what ? what : strerror(-error));
	return error;
}

/* O_NONBLOCK, so that opening a FIFO does not block; the FIFO is refused later. */
static int input_open_file(const struct input_file *file)
{
	struct stat st;

	if (file->path)
		return io_open_plain(file->path, O_RDONLY | O_NOCTTY | O_NONBLOCK);
	return stat(file->named, &st) < 0 ? -errno : -EINVAL; /* /proc/self/fd/N without a path: not a regular file */
}

static int input_copy_file(int workdir_fd, const struct input_file *file, const struct privs_user *user,
			   struct policy_error *ret_error)
{
	const char *path = file->named;
	_cleanup_close_ int from = input_open_file(file);
	_cleanup_close_ int to = -1;
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	struct timespec times[2];
	struct stat st;
	uint64_t copied;
	int error;

	if (from == -ELOOP)
		return input_set_error(ret_error, path, from,
				       "has become a symbolic link, or lies behind one, since it was resolved");
	if (from == -EINVAL)
		return input_set_error(ret_error, path, from, "is not a regular file");
	if (from < 0 || fstat(from, &st) < 0)
		return input_set_error(ret_error, path, from < 0 ? from : -errno, NULL);
	if (S_ISDIR(st.st_mode))
		return input_set_error(ret_error, path, -EISDIR, "is a directory; grant it with -r, or name its files");
	if (!S_ISREG(st.st_mode))
		return input_set_error(ret_error, path, -EINVAL, "is not a regular file");
	to = openat(workdir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (to < 0 && errno == EEXIST)
		return input_set_error(ret_error, path, -EEXIST,
				       "the workdir has a file of this name already; rename one of them");
	if (to < 0)
		return input_set_error(ret_error, path, -errno, NULL);
	error = io_copy(from, to, UINT64_MAX, &copied);
	if (error < 0)
		return input_set_error(ret_error, path, error, NULL);
	times[0] = st.st_atim;
	times[1] = st.st_mtim;
	if (fchmod(to, st.st_mode & 0777) < 0 || futimens(to, times) < 0 ||
	    (user->set && fchown(to, user->uid, user->gid) < 0))
		return input_set_error(ret_error, path, -errno, NULL);
	return 0;
}

int input_copy_files(int workdir_fd, const struct input_file *files, size_t count, const struct privs_user *user,
	       struct policy_error *ret_error)
{
	int error = 0;

	for (size_t i = 0; i < count && error == 0; i++)
		error = input_copy_file(workdir_fd, &files[i], user, ret_error);
	return error;
}
