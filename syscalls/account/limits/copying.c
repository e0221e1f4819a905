#include "syscalls/account/limits/copying.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/times.h"
#include "syscalls/call/call.h"
#include "syscalls/call/work.h"

/* The least speed that a copy is expected to have, on a slow disk of a busy machine; what each may take besides. */
#define COPYING_BYTES_PER_MS 4096
#define COPYING_PAUSE_MS 1000
#define COPYING_MS_MAX (60 * 60 * 1000)
#define COPYING_FUSE_SUPER_MAGIC 0x65735546 /* FUSE_SUPER_MAGIC in fs/fuse/inode.c, which no header of Debian 12 has */

/* Until when the supervisor thread may take to copy so many bytes. */
static uint64_t copying_find_end_ns(off_t bytes)
{
	const off_t ms = COPYING_PAUSE_MS + bytes / COPYING_BYTES_PER_MS;

	return io_read_clock_ns() + (uint64_t)(ms < COPYING_MS_MAX ? ms : COPYING_MS_MAX) * NS_PER_MS;
}

/* NULL: it was not copied, or long ago. */
static struct copied_file *copying_find(struct copied_files *files, dev_t dev, ino_t ino)
{
	for (unsigned i = 0; i < files->count && i < COPIED_FILES_MAX; i++)
		if (files->file[i].dev == dev && files->file[i].ino == ino)
			return &files->file[i];
	return NULL;
}

void copying_get_first_number(struct copied_files *files, dev_t *dev, ino_t *ino)
{
	const struct copied_file *file = copying_find(files, *dev, *ino);

	if (!file)
		return;
	*dev = file->first_dev;
	*ino = file->first_ino;
}

/* The entry of a file, or one for it. */
static struct copied_file *copying_find_or_add(struct copied_files *files, const struct stat *status)
{
	struct copied_file *file = copying_find(files, status->st_dev, status->st_ino);

	if (file)
		return file;
	file = &files->file[files->count % COPIED_FILES_MAX];
	/* stays at least COPIED_FILES_MAX once it was */
	files->count = files->count == 2 * COPIED_FILES_MAX - 1 ? COPIED_FILES_MAX : files->count + 1;
	return file;
}

void copying_note(struct copied_files *files, const struct stat *first, const struct stat *status, bool is_left)
{
	*copying_find_or_add(files, status) = (struct copied_file){.dev = status->st_dev,
								   .ino = status->st_ino,
								   .first_dev = first->st_dev,
								   .first_ino = first->st_ino,
								   .is_left = is_left};
}

/*
 * Replaces an extended attribute that the file does not have: the program cannot guess its name. The overlay copies the
 * file before it learns that (ovl_xattr_set() in fs/overlayfs), and neither attributes nor inotify tell of it.
 * -ENODATA: that is how it went; or another -errno.
 */
static int copying_try_attribute(const char *path)
{
	uint64_t number[2];
	char name[sizeof("user.callgate.") + 32];

	if (getrandom(number, sizeof(number), 0) != sizeof(number))
		return -EAGAIN;
	(void)snprintf(name, sizeof(name), "user.callgate.%016" PRIx64 "%016" PRIx64, number[0], number[1]);
	return setxattr(path, name, "", 1, XATTR_REPLACE) < 0 ? -errno : 0;
}

/* Sets the access time to what it is, for the owner of a file that may not be written. 0 or -errno. */
static int copying_try_time(int fd, const char *path)
{
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_nsec = UTIME_OMIT}};
	struct stat status;

	if (fstat(fd, &status) < 0)
		return -errno;
	times[0] = status.st_atim;
	return utimensat(AT_FDCWD, path, times, 0) < 0 ? -errno : 0;
}

/*
 * Changes neither owner nor group, which anyone may, also of a file that one may not write. Not of a file whose set-id
 * bits or capabilities the kernel would remove with that. 0 or -errno.
 */
static int copying_try_owner(const char *path)
{
	struct stat status;

	if (stat(path, &status) < 0)
		return -errno;
	if (status.st_mode & (S_ISUID | S_ISGID) || getxattr(path, "security.capability", NULL, 0) >= 0)
		return -EPERM;
	return fchownat(AT_FDCWD, path, (uid_t)-1, (gid_t)-1, 0) < 0 ? -errno : 0;
}

/* Opens the file for writing. 0 or -errno. */
static int copying_try_open(const char *path)
{
	const int writer = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (writer < 0)
		return -errno;
	(void)close(writer);
	return 0;
}

bool copying_lacks_room(int r)
{
	return r == -ENOSPC || r == -EDQUOT || r == -ENOMEM;
}

/* True for an error of the copy itself. After another one, a file may be copied by another change. */
static bool copying_has_failed(int r)
{
	return r == -EIO || copying_lacks_room(r);
}

/* Whether another change is to be tried after one that ended with this error. */
static bool copying_tries_next(int r)
{
	return r < 0 && r != -EINTR && !copying_has_failed(r);
}

/*
 * Has the overlay copy the file of fd, which stays as it is but for its time of change. 0; -EINTR; or -errno: that of
 * the copy, or this process may not change the file. is_moved: by DISK_MOVES.
 */
static int copying_try(int fd, bool is_moved)
{
	const struct io_proc_fd_path link = io_proc_fd_path(fd);
	int r = copying_try_attribute(link.path);

	if (r == -ENODATA)
		return 0;
	if (copying_tries_next(r))
		r = copying_try_time(fd, link.path);
	if (is_moved && copying_tries_next(r))
		r = copying_try_owner(link.path);
	return copying_tries_next(r) ? copying_try_open(link.path) : r;
}

int copying_copy_now(struct copied_files *files, int fd, bool is_moved, struct stat *status)
{
	const struct stat first = *status;
	const int r = copying_try(fd, is_moved);

	if (r < 0)
		return r;
	if (fstat(fd, status) < 0)
		return -errno;
	if (status->st_ino != first.st_ino || status->st_dev != first.st_dev)
		copying_note(files, &first, status, false);
	return 0;
}

/* ---- in a worker thread ---- */

struct copying_work {
	struct call_work work;
	struct sandbox *sandbox; /* borrowed */
	struct stat first;       /* of the file, before it is copied */
	bool is_moved;           /* by DISK_MOVES */
	int error;               /* 0, or -errno with which the file could not be copied */
	copying_count_fn *count; /* NULL: the copy does not count */
};

/*
 * Has the file of fd copied. One that this process may not change is left to the call itself, which then fails or
 * copies it. -errno: the copy has failed, and so does the call.
 */
static int64_t copying_run_work(struct call_work *work, int fd, bool (*go_on)(void *ctx), void *ctx)
{
	struct copying_work *copying = (struct copying_work *)work;

	do
		copying->error = copying_try(fd, copying->is_moved);
	while (copying->error == -EINTR && go_on(ctx));
	return copying_has_failed(copying->error) ? copying->error : 0;
}

static void copying_end_work(struct call_work *work, int fd, int64_t result)
{
	const struct copying_work *copying = (const struct copying_work *)work;
	struct stat status;

	if (result < 0 || copying->error == -EINTR || fstat(fd, &status) < 0)
		return;
	copying_note(&copying->sandbox->copied_files, &copying->first, &status,
		     copying->error < 0 && !copying->is_moved);
	if (copying->error == 0 && copying->count)
		copying->count(copying->sandbox->disk, fd);
}

static void copying_free_work(struct call_work *work)
{
	const struct copying_work *copying = (const struct copying_work *)work;

	if (copying->sandbox->copied_files.now == copying)
		copying->sandbox->copied_files.now = NULL;
	free(work);
}

/* Lets a worker have the file copied, after which the call is judged again. -1 with the outcome. */
static int copying_give_to_worker(struct call *call, int fd, const struct stat *status, bool is_moved,
				  copying_count_fn *count)
{
	struct copied_files *files = &call->sandbox->copied_files;
	struct copying_work *copying = malloc(sizeof(*copying));
	const int copied = copying ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;

	if (copied < 0) {
		free(copying);
		return call_fail(call, -ENOMEM);
	}
	*copying = (struct copying_work){
		.work = {.run = copying_run_work, .end = copying_end_work, .free = copying_free_work},
		.sandbox = call->sandbox,
		.first = *status,
		.is_moved = is_moved,
		.count = count};
	if (!files->now) /* else the call waits for another one, and the work is freed */
		files->now = copying;
	call->outcome.kind = OUTCOME_COPY_FIRST;
	call->outcome.fd = copied;
	call->outcome.blocking_work = &copying->work;
	return -1;
}

/* ---- before a call ---- */

/* Whether a file system copies files before they are changed. fuse-overlayfs is one of those by FUSE. */
static bool copying_may_be_made(int fd)
{
	struct statfs system;

	return fstatfs(fd, &system) == 0 &&
	       (system.f_type == OVERLAYFS_SUPER_MAGIC || system.f_type == COPYING_FUSE_SUPER_MAGIC);
}

int copying_await(struct call *call, int fd, const char *name)
{
	const struct copying_work *now = call->sandbox->copied_files.now;
	struct stat status;

	if (!now || call->copies_inline || call_is_only_judged(call) ||
	    fstatat(fd, name, &status, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW) < 0 || status.st_ino != now->first.st_ino ||
	    status.st_dev != now->first.st_dev)
		return 0;
	call->outcome.kind = OUTCOME_COPY_FIRST;
	return -1;
}

bool copying_may_write(int fd)
{
	return faccessat(fd, "", W_OK, AT_EMPTY_PATH | AT_EACCESS) == 0 || errno != EACCES;
}

int copying_begin(struct call *call, int fd, enum disk_copying how, copying_count_fn *count)
{
	const bool is_moved = how == DISK_MOVES;
	struct sandbox *sandbox = call->sandbox;
	const struct copied_file *noted;
	struct stat status;

	if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) || status.st_size < COPYING_QUICK_BYTES ||
	    !copying_may_be_made(fd) || (how == DISK_OPENS && !copying_may_write(fd)))
		return 0;
	if (call->fill_error < 0)
		return call_fail(call, call->fill_error);
	noted = copying_find(&sandbox->copied_files, status.st_dev, status.st_ino);
	if (status.st_size >= COPYING_INLINE_BYTES_MAX && !call->copies_inline &&
	    (!noted || (noted->is_left && is_moved)))
		return copying_give_to_worker(call, fd, &status, is_moved, count);
	/* the call copies what is small, and what the worker could not */
	atomic_store(&sandbox->copying_until_ns, copying_find_end_ns(status.st_size));
	return 0;
}
