/*
 * The directories in a run's directory. Most programs leave them as they are, and on a disk one takes 40 us to make and
 * 140 to 500 to remove (ext4 with `discard`): so one such set stays, under the name of nobody's run, and is the next
 * run's.
 */
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "keeper/scratch-private.h"

#include "base/banned.h"

#define SPARE "spare" /* in the base */

static const struct {
	const char *name;
	mode_t mode;
	bool always;
} inside[SCRATCH_INSIDE] = {
	{"work", 0755, true}, {"tmp", 01777, true}, {"shm", 01777, true}, {"var-tmp", 01777, false}};

int scratch_make_dir(int dirfd, const char *name, mode_t mode)
{
	/* fchmodat because the caller's umask is the program's business and stays untouched. */
	if (mkdirat(dirfd, name, 0700) < 0)
		return -errno;
	return mode != 0700 && fchmodat(dirfd, name, mode, 0) < 0 ? -errno : 0;
}

int scratch_open_dir(int dirfd, const char *name)
{
	int fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

const char *scratch_run_name(const struct scratch *scratch)
{
	assert(scratch->base);
	return scratch->path + strlen(scratch->base) + 1;
}

static size_t find(const char *name)
{
	size_t i = 0;

	while (i < SCRATCH_INSIDE && strcmp(inside[i].name, name) != 0)
		i++;
	return i;
}

/* ---- making them ---- */

static void look(int fd, struct scratch_mark *ret_mark)
{
	ret_mark->attributes = flistxattr(fd, NULL, 0);
	ret_mark->set = fstat(fd, &ret_mark->st) == 0;
}

static int note(struct scratch *scratch, size_t i)
{
	_cleanup_close_ int fd = scratch_open_dir(scratch->fd, inside[i].name);

	if (fd < 0)
		return fd;
	look(fd, &scratch->mark[i]);
	return 0;
}

static int make_inside(struct scratch *scratch, size_t i)
{
	int error = scratch_make_dir(scratch->fd, inside[i].name, inside[i].mode);

	if (error < 0 && error != -EEXIST) /* it came with a spare one */
		return error;
	if (!scratch->may_stay)
		return 0;
	return note(scratch, i);
}

int scratch_furnish(struct scratch *scratch)
{
	int error = 0;

	for (size_t i = 0; error == 0 && i < SCRATCH_INSIDE; i++)
		if (inside[i].always)
			error = make_inside(scratch, i);
		else if (scratch->may_stay)
			(void)note(scratch, i); /* mostly the last run's policy wanted it as well */
	return error;
}

void scratch_add(struct scratch *scratch, const char *name)
{
	size_t i = find(name);

	if (i == SCRATCH_INSIDE)
		(void)scratch_make_dir(scratch->fd, name, 01777);
	else if (!inside[i].always && !scratch->mark[i].set)
		(void)make_inside(scratch, i);
}

/* ---- leaving them to the next run, and taking them ---- */

static bool same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

/*
 * Whatever is done to a directory or its names sets ctime. What was done within one tick of the clock after it was made
 * shows in the rest, or has left nothing.
 */
static bool same(const struct scratch_mark *a, const struct scratch_mark *b)
{
	return a->set && b->set && a->st.st_dev == b->st.st_dev && a->st.st_ino == b->st.st_ino &&
	       same_time(&a->st.st_ctim, &b->st.st_ctim) && same_time(&a->st.st_mtim, &b->st.st_mtim) &&
	       a->st.st_mode == b->st.st_mode && a->st.st_uid == b->st.st_uid && a->st.st_gid == b->st.st_gid &&
	       a->st.st_nlink == b->st.st_nlink && a->st.st_size == b->st.st_size && a->attributes == b->attributes;
}

/* Whether each name in the directory is one that `allowed` says may be there; NULL: none may. */
static bool holds_only(int fd, const struct scratch *scratch, bool (*allowed)(const struct scratch *, const char *name))
{
	_Alignas(struct dirent64) char buffer[1024];
	ssize_t got;

	while ((got = getdents64(fd, buffer, sizeof(buffer))) > 0)
		for (ssize_t at = 0; at < got;) {
			const struct dirent64 *entry = (const struct dirent64 *)(const void *)(buffer + at);

			if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
			    !(allowed && allowed(scratch, entry->d_name)))
				return false;
			at += entry->d_reclen;
		}
	return got == 0;
}

static bool untouched_inside(const struct scratch *scratch, const char *name)
{
	size_t i = find(name);
	_cleanup_close_ int fd = -1;
	struct scratch_mark now;

	if (i == SCRATCH_INSIDE || !scratch->mark[i].set)
		return false;
	fd = scratch_open_dir(scratch->fd, name);
	if (fd < 0)
		return false;
	look(fd, &now);
	return same(&scratch->mark[i], &now) && holds_only(fd, NULL, NULL);
}

bool scratch_untouched(const struct scratch *scratch)
{
	_cleanup_close_ int fd =
		scratch->may_stay && scratch->ended_well ? scratch_open_dir(scratch->fd, ".") : -1;

	return fd >= 0 && holds_only(fd, scratch, untouched_inside);
}

bool scratch_give_back(const struct scratch *scratch)
{
	/*
	 * A supervisor that is about to end has the lock as well. Who sweeps in this moment removes it, and that is
	 * fine.
	 */
	(void)flock(scratch->fd, LOCK_UN);
	return renameat(scratch->base_fd, scratch_run_name(scratch), scratch->base_fd, SPARE) == 0;
}

/* Nobody but us can have changed it. This is for what no version of callgate leaves there. */
static bool good_inside(const struct scratch *scratch, const char *name)
{
	size_t i = find(name);
	_cleanup_close_ int fd = i < SCRATCH_INSIDE ? scratch_open_dir(scratch->fd, name) : -1;
	struct scratch_mark now;

	if (fd < 0)
		return false;
	look(fd, &now);
	return now.set && now.st.st_uid == geteuid() && now.st.st_mode == (S_IFDIR | inside[i].mode) &&
	       now.st.st_nlink <= 2 && holds_only(fd, NULL, NULL);
}

bool scratch_take_spare(struct scratch *scratch)
{
	const char *name = scratch_run_name(scratch);
	_cleanup_close_ int fd = -1;
	struct stat st;

	if (!scratch->may_stay || renameat(scratch->base_fd, SPARE, scratch->base_fd, name) < 0)
		return false;
	scratch->fd = scratch_open_dir(scratch->base_fd, name);
	fd = scratch->fd < 0 ? -1 : scratch_open_dir(scratch->fd, ".");
	if (fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == geteuid() && st.st_mode == (S_IFDIR | 0700) &&
	    holds_only(fd, scratch, good_inside))
		return true;
	cleanup_close(&scratch->fd);
	scratch->fd = -1;
	(void)io_remove_tree(scratch->base_fd, name); /* mkdirat tells */
	return false;
}
