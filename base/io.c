#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/path.h"

#define COPY_CHUNK_BYTES 65536
#define COPY_STEP_BYTES ((off_t)64 << 20) /* copied between two questions whether to go on */

bool io_error_means_absent(int error)
{
	/* ENXIO: a socket, which cannot be opened; at the last ones execvp(3) goes on, as where a server is away */
	return error == -ENOENT || error == -ENOTDIR || error == -ELOOP || error == -EACCES || error == -ENAMETOOLONG ||
	       error == -ENXIO || error == -ESTALE || error == -ENODEV || error == -ETIMEDOUT;
}

int io_write_all(int fd, const void *bytes, size_t len)
{
	const char *at = bytes;
	ssize_t put;

	while (len > 0) {
		put = TEMP_FAILURE_RETRY(write(fd, at, len));
		if (put < 0)
			return -errno;
		if (put == 0)
			return -EIO; /* write(2) should not return 0 here; report an error rather than loop */
		at += put;
		len -= (size_t)put;
	}
	return 0;
}

/*
 * How often openat2(2) is tried: it fails with EAGAIN when anything on the machine was renamed or mounted while it
 * resolved a "..". Even a path without ".." can lead through one: in a symbolic link of the host.
 */
#define OPENAT2_TRIES_MAX 128

int openat2_retry(int dirfd, const char *path, int flags, mode_t mode, uint64_t resolve)
{
	/* openat2(2) refuses a mode unless the flags have O_CREAT or O_TMPFILE. */
	bool creates = flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE;
	struct open_how how = {
		.flags = (uint64_t)(unsigned)(flags | O_CLOEXEC), .mode = creates ? mode : 0, .resolve = resolve};
	int fd, tries = 0;

	do
		fd = (int)syscall(SYS_openat2, dirfd, path, &how, sizeof(how));
	while (fd < 0 && errno == EAGAIN && ++tries < OPENAT2_TRIES_MAX);
	return fd < 0 ? -errno : fd;
}

int io_open_parent_below(int dirfd, const char *path, int flags, uint64_t resolve, const char **ret_name)
{
	char dir[PATH_MAX];
	int r = path_split(path, dir, ret_name);

	return r < 0 ? r : openat2_retry(dirfd, *dir ? dir : ".", flags | O_DIRECTORY, 0, IO_RESOLVE_BELOW | resolve);
}

int io_open_keeping_atime(int dirfd, const char *path, int flags, uint64_t resolve)
{
	int fd = openat2_retry(dirfd, path, flags | O_NOATIME, 0, resolve);

	return fd == -EPERM ? openat2_retry(dirfd, path, flags, 0, resolve) : fd;
}

int io_find_openat2_errno(void)
{
	/* The kernel checks the size of the structure first: EINVAL for none. */
	return syscall(SYS_openat2, -1, NULL, NULL, 0) < 0 && errno != EINVAL ? errno : 0;
}

bool io_may_have_name(int dirfd, const char *name)
{
	return faccessat(dirfd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT;
}

int io_open_dir(int dirfd, const char *name)
{
	int fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

DIR *io_take_dir_stream(int fd)
{
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (fd < 0)
		errno = -fd;
	else if (!dir)
		cleanup_close(&fd);
	return dir;
}

const struct dirent *io_read_entry(DIR *dir, int *ret_error)
{
	const struct dirent *entry;

	do {
		errno = 0;
		entry = readdir(dir);
	} while (entry && path_is_dot_name(entry->d_name));
	*ret_error = entry ? 0 : -errno;
	return entry;
}

int io_open_without_links(const char *path, int flags)
{
	int fd;

	do
		fd = openat2_retry(AT_FDCWD, path, flags, 0, RESOLVE_NO_SYMLINKS);
	while (fd == -EINTR);
	return fd;
}

int io_open_regular(const char *path)
{
	_cleanup_close_ int pin = openat2_retry(AT_FDCWD, path, O_PATH, 0, 0);
	struct stat status;
	int fd;

	if (pin < 0)
		return pin;
	if (fstat(pin, &status) < 0)
		return -errno;
	if (!S_ISREG(status.st_mode))
		return -EINVAL;
	/* O_NONBLOCK: a file with a lease, and some of procfs, would keep the caller waiting */
	fd = open(io_proc_fd_path(pin).path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* The size of the first buffer: the size of the file, and one byte more to see its end; at most cap + 1. */
static size_t io_get_first_buffer_size(int fd, size_t cap)
{
	struct stat st;
	size_t room = 4096;

	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 && (uint64_t)st.st_size < SIZE_MAX - 2)
		room = (size_t)st.st_size + 1;
	return room > cap ? cap + 1 : room;
}

int io_read_fd(int fd, size_t cap, char **ret_text, size_t *ret_len)
{
	_cleanup_free_ char *text = NULL;
	size_t room, len = 0;
	ssize_t got;
	char *more;

	if (cap > SIZE_MAX / 2 - 2)
		cap = SIZE_MAX / 2 - 2; /* room * 2 and the NUL cannot overflow */
	room = io_get_first_buffer_size(fd, cap);
	text = malloc(room + 1);
	if (!text)
		return -ENOMEM;
	for (;;) {
		if (len == room) {
			room = room > cap / 2 ? cap + 1 : room * 2;
			more = realloc(text, room + 1);
			if (!more)
				return -ENOMEM;
			text = more;
		}
		got = TEMP_FAILURE_RETRY(read(fd, text + len, room - len));
		if (got < 0)
			return -errno;
		if (got == 0)
			break;
		len += (size_t)got;
		if (len > cap)
			return -EFBIG;
	}
	text[len] = '\0';
	*ret_text = steal_pointer(&text);
	*ret_len = len;
	return 0;
}

int io_read_file(int dirfd, const char *path, size_t cap, char **ret_text, size_t *ret_len)
{
	_cleanup_close_ int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	if (fd < 0)
		return -errno;
	return io_read_fd(fd, cap, ret_text, ret_len);
}

struct io_proc_fd_path io_proc_fd_path(int fd)
{
	struct io_proc_fd_path link;

	(void)snprintf(link.path, sizeof(link.path), "/proc/self/fd/%d", fd);
	return link;
}

ssize_t io_read_fd_name(int fd, char ret_name[PATH_MAX])
{
	ssize_t len = readlink(io_proc_fd_path(fd).path, ret_name, PATH_MAX);

	if (len < 0)
		return -errno;
	if (len == PATH_MAX) /* cut */
		return -ENAMETOOLONG;
	ret_name[len] = '\0';
	return len;
}

ssize_t io_read_once(int dirfd, const char *path, char *text, size_t size)
{
	_cleanup_close_ int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? -1 : read(fd, text, size - 1);

	if (len < 0)
		return -errno;
	text[len] = '\0';
	return len;
}

int io_write_once(int dirfd, const char *path, const char *text)
{
	_cleanup_close_ int fd = openat(dirfd, path, O_WRONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? -1 : write(fd, text, strlen(text));

	if (len < 0)
		return -errno;
	return len == (ssize_t)strlen(text) ? 0 : -EIO;
}

/* Copies with read(2) and write(2) what copy_file_range(2) refuses: pipes, procfs, other file systems, O_APPEND. */
static int io_copy_buffered(int from_fd, int to_fd, uint64_t max, uint64_t *copied)
{
	char chunk[COPY_CHUNK_BYTES];
	ssize_t got;
	int err;

	while (max > 0) {
		got = TEMP_FAILURE_RETRY(read(from_fd, chunk, max < sizeof(chunk) ? (size_t)max : sizeof(chunk)));
		if (got < 0)
			return -errno;
		if (got == 0)
			break;
		err = io_write_all(to_fd, chunk, (size_t)got);
		if (err < 0)
			return err;
		*copied += (uint64_t)got;
		max -= (uint64_t)got;
	}
	return 0;
}

int io_copy_bytes(int from_fd, int to_fd, uint64_t max, uint64_t *ret_copied)
{
	const uint64_t step_bytes = UINT64_C(1) << 30;
	uint64_t copied = 0;
	ssize_t got;
	int err;

	while (copied < max) {
		size_t step = max - copied < step_bytes ? (size_t)(max - copied) : step_bytes;

		got = TEMP_FAILURE_RETRY(copy_file_range(from_fd, NULL, to_fd, NULL, step, 0));
		if (got <= 0)
			break; /* 0 is also the result for generated files of st_size 0: then read(2) decides */
		copied += (uint64_t)got;
	}
	err = io_copy_buffered(from_fd, to_fd, max - copied, &copied);
	if (err == 0)
		*ret_copied = copied;
	return err;
}

int io_copy_sparse(int from_fd, int to_fd, const struct io_go_on *go_on)
{
	off_t size = lseek(from_fd, 0, SEEK_END), data = 0, hole = 0, end = 0;
	uint64_t copied = 0;
	int r = size < 0 ? -errno : 0;

	while (r == 0 && (data = lseek(from_fd, hole, SEEK_DATA)) >= 0 && data < size) {
		if (go_on && !go_on->asks(go_on->ctx))
			return -ECANCELED;
		hole = lseek(from_fd, data, SEEK_HOLE);
		if (hole < 0 || lseek(from_fd, data, SEEK_SET) < 0 || lseek(to_fd, data, SEEK_SET) < 0)
			return -errno;
		if (hole - data > COPY_STEP_BYTES)
			hole = data + COPY_STEP_BYTES;
		r = io_copy_bytes(from_fd, to_fd, (uint64_t)(hole - data), &copied);
		if (r == 0 && copied == 0)
			break; /* the file was truncated meanwhile */
		end = data + (off_t)copied;
	}
	if (r == 0 && data < 0 && errno != ENXIO) /* ENXIO: no data follows, only a hole up to the end of the file */
		return -errno;
	if (r == 0 && end != size && ftruncate(to_fd, size) < 0) /* some file systems write a journal for that */
		return -errno;
	return r;
}

uint64_t io_read_clock_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now); /* clock_gettime(2) cannot fail for CLOCK_MONOTONIC */
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}
