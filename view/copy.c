#include "view/copy.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/path.h"
#include "base/times.h"
#include "policy/policy.h"

#define COPY_NEW_RECORDS_NAME COPY_RECORDS_NAME ".new"
#define COPY_TICK_WAITS_MAX 3000 /* 1 ms each: some file systems have times of 2 s */

/* A file with several names, as it was first found. */
struct copy_link {
	dev_t dev;
	ino_t ino;
	char path[];
};

struct copy {
	int from_fd, to_fd;
	char **dir; /* paths of all directories, those above first; owned */
	size_t dirs, dir_room, entries;
	uint64_t record_bytes; /* what the records of all entries that were found take */
	void *links; /* struct copy_link, for tsearch(3) */
	struct copy_room room;
	struct timespec last_ctime; /* the latest of the copy */
	uint64_t limit_bytes;       /* most that the copy may take; 0: any */
	struct copy_size before;    /* of other trees that were copied */
	struct copy_size size;      /* of these, and of what was found until now */
	struct copy_failure *failure;
};

static int copy_fail(const struct copy *copy, int error, const char *path, const char *what)
{
	(void)snprintf(copy->failure->path, sizeof(copy->failure->path), "%s", path);
	copy->failure->what = what;
	return error;
}

/* Opens a directory of one of both trees. A descriptor or -errno. */
static int copy_open_dir(int root_fd, const char *path)
{
	return io_open_keeping_atime(root_fd, *path ? path : ".", O_RDONLY | O_DIRECTORY | O_NOFOLLOW,
				     IO_RESOLVE_BELOW | RESOLVE_NO_XDEV);
}

/* A stream of a directory's entries. Takes fd. NULL: no memory. */
static DIR *copy_open_stream(int dir_fd)
{
	DIR *dir = fdopendir(dir_fd);

	if (!dir)
		(void)close(dir_fd);
	return dir;
}

/* ---- the size ---- */

uint64_t copy_size_get_bytes(const struct copy_size *size)
{
	return size->content_bytes + size->names * POLICY_DISK_BYTES_PER_NAME +
	       size->directories * POLICY_DISK_BYTES_PER_DIRECTORY;
}

static void copy_size_add(struct copy_size *size, const struct stat *st)
{
	size->names++;
	if (S_ISDIR(st->st_mode))
		size->directories++;
	else if (S_ISREG(st->st_mode)) /* each name of a file has its part of it */
		size->content_bytes += (uint64_t)st->st_blocks * 512 / (st->st_nlink > 0 ? st->st_nlink : 1);
}

/* -EDQUOT when what was found takes more than the limit. */
static int copy_compare_with_limit(const struct copy *copy)
{
	const uint64_t bytes = copy_size_get_bytes(&copy->size);

	if (copy->limit_bytes == 0 || bytes <= copy->limit_bytes)
		return 0;
	copy->failure->needed_bytes = bytes;
	return copy_fail(copy, -EDQUOT, "", "is too large");
}

/* ---- hard links ---- */

static int copy_compare_links(const void *left, const void *right)
{
	const struct copy_link *a = left, *b = right;

	return a->ino != b->ino ? (a->ino > b->ino) - (a->ino < b->ino) : (a->dev > b->dev) - (a->dev < b->dev);
}

/* Makes a file another name of one that was copied already. 1; 0: it is to be copied; or -errno. */
static int copy_link_name(struct copy *copy, const struct stat *st, const char *path)
{
	struct copy_link *link;
	void *found;

	if (S_ISDIR(st->st_mode) || st->st_nlink < 2)
		return 0;
	link = malloc(sizeof(*link) + strlen(path) + 1);
	if (!link)
		return -ENOMEM;
	link->dev = st->st_dev;
	link->ino = st->st_ino;
	memcpy(link->path, path, strlen(path) + 1);
	found = tsearch(link, &copy->links, copy_compare_links);
	if (!found || *(struct copy_link **)found == link) {
		if (!found)
			free(link);
		return found ? 0 : -ENOMEM;
	}
	free(link);
	link = *(struct copy_link **)found;
	/* Too many links, or the first one was not there any more: a file of its own. */
	return linkat(copy->to_fd, link->path, copy->to_fd, path, 0) == 0;
}

/* ---- copying ---- */

static int copy_add_dir(struct copy *copy, const char *path)
{
	if (!array_reserve(&copy->dir, copy->dirs, &copy->dir_room))
		return -ENOMEM;
	copy->dir[copy->dirs] = strdup(path);
	return copy->dir[copy->dirs++] ? 0 : -ENOMEM;
}

/* Counts an entry that was found. 0; -E2BIG or -EFBIG: there are too many, or their paths are too long. */
static int copy_count_entry(struct copy *copy, const char *path)
{
	if (++copy->entries > COPY_ENTRIES_MAX)
		return copy_fail(copy, -E2BIG, path, "is one entry more than the 1,000,000 that are copied");
	copy->record_bytes += sizeof(struct copy_record) + strlen(path) + 1;
	/* The last record is that of the directory itself. */
	if (copy->record_bytes + sizeof(struct copy_record) + 1 > COPY_RECORDS_BYTES_MAX)
		return copy_fail(copy, -EFBIG, "", "has more than 1 GiB of paths, which is the most that is recorded");
	return 0;
}

/* Copies what a name leads to; of a directory, it is made and noted. 0 or -errno. */
static int copy_name(struct copy *copy, int from_dir_fd, int to_dir_fd, const char *name, const char *path)
{
	const char *what = "cannot be written to the copy in TMPDIR";
	struct stat st;
	int r = copy_count_entry(copy, path);

	if (r < 0)
		return r;
	if (fstatat(from_dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : copy_fail(copy, -errno, path, "cannot be read");
	copy_size_add(&copy->size, &st);
	r = copy_compare_with_limit(copy);
	if (r < 0)
		return r;
	r = copy_link_name(copy, &st, path);
	if (r == 0 && S_ISDIR(st.st_mode))
		r = mkdirat(to_dir_fd, name, 0700) < 0 ? -errno : copy_add_dir(copy, path);
	else if (r == 0)
		r = copy_entry(from_dir_fd, name, &st, to_dir_fd, &copy->room, &what);
	return r < 0 ? copy_fail(copy, r, path, what) : 0;
}

/* Copies the entries of one directory. 0 or -errno. */
static int copy_dir(struct copy *copy, const char *path)
{
	const int fd = copy_open_dir(copy->from_fd, path);
	_cleanup_closedir_ DIR *dir = fd < 0 ? NULL : copy_open_stream(fd);
	_cleanup_close_ int to = copy_open_dir(copy->to_fd, path);
	const struct dirent *entry;
	char name[PATH_MAX];
	int r = 0;

	if (fd == -ENOENT || fd == -ENOTDIR || fd == -ELOOP)
		return 0; /* removed or replaced meanwhile */
	if (!dir || to < 0)
		return copy_fail(copy,
				 fd < 0   ? fd
				 : to < 0 ? to
					  : -ENOMEM,
				 path, fd == -EXDEV ? "is a mount of its own" : "cannot be read");
	while (r == 0 && (errno = 0, entry = readdir(dir))) {
		if (path_is_dot_name(entry->d_name))
			continue;
		r = path_append_name(path, entry->d_name, name);
		r = r < 0 ? copy_fail(copy, r, path, "has a path that is too long")
			  : copy_name(copy, fd, to, entry->d_name, name);
	}
	return r == 0 && errno ? copy_fail(copy, -errno, path, "cannot be read") : r;
}

/* Adds the size of a directory's entries. What cannot be read is told when it is copied. 0 or -ENOMEM. */
static int copy_measure_dir(struct copy *copy, const char *path)
{
	const int fd = copy_open_dir(copy->from_fd, path);
	_cleanup_closedir_ DIR *dir = fd < 0 ? NULL : copy_open_stream(fd);
	const struct dirent *entry;
	char name[PATH_MAX];
	struct stat st;
	int r = 0;

	while (r == 0 && dir && copy->size.names - copy->before.names <= COPY_ENTRIES_MAX && (entry = readdir(dir))) {
		if (path_is_dot_name(entry->d_name) || fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		copy_size_add(&copy->size, &st);
		if (S_ISDIR(st.st_mode) && path_append_name(path, entry->d_name, name) == 0)
			r = copy_add_dir(copy, name);
	}
	return r;
}

/* Compares the size of the whole tree with the limit, before anything is copied. 0 or -errno. */
static int copy_check_size(struct copy *copy)
{
	int r = copy->limit_bytes > 0 ? copy_add_dir(copy, "") : 0;

	for (size_t i = 0; r == 0 && i < copy->dirs; i++)
		r = copy_measure_dir(copy, copy->dir[i]);
	if (r == 0)
		r = copy_compare_with_limit(copy);
	while (copy->dirs > 0)
		free(copy->dir[--copy->dirs]);
	copy->size = copy->before;
	return r;
}

/* Gives the directories their attributes, the deepest first: what is copied into one sets its times. 0 or -errno. */
static int copy_dir_attributes(struct copy *copy)
{
	const char *what = "cannot be read";
	int r = 0;

	for (size_t i = copy->dirs; r == 0 && i-- > 0;) {
		_cleanup_close_ int from = copy_open_dir(copy->from_fd, copy->dir[i]);
		_cleanup_close_ int to = copy_open_dir(copy->to_fd, copy->dir[i]);

		r = to < 0 ? to : from < 0 ? 0 : copy_attributes(from, to, &what);
		if (r < 0)
			return copy_fail(copy, r, copy->dir[i], what);
	}
	return r;
}

/* ---- records ---- */

/* Writes one record. 0 or -errno. */
static int copy_write_record(struct copy *copy, FILE *file, const struct stat *st, const char *path, bool must_compare)
{
	const struct copy_record record = {.inode = st->st_ino,
					   .ctime_sec = st->st_ctim.tv_sec,
					   .ctime_nsec = (uint32_t)st->st_ctim.tv_nsec,
					   .mode = st->st_mode,
					   .path_len = (uint32_t)strlen(path),
					   .must_compare_contents = must_compare};

	if (times_compare(&st->st_ctim, &copy->last_ctime) > 0)
		copy->last_ctime = st->st_ctim;
	if (fwrite(&record, sizeof(record), 1, file) != 1 || fwrite(path, record.path_len + 1, 1, file) != 1)
		return errno ? -errno : -EIO;
	return 0;
}

/* Writes the records of a directory's entries. 0 or -errno. */
static int copy_write_records(struct copy *copy, FILE *file, const char *path)
{
	const int fd = copy_open_dir(copy->to_fd, path);
	_cleanup_closedir_ DIR *dir = fd < 0 ? NULL : copy_open_stream(fd);
	const struct dirent *entry;
	char name[PATH_MAX];
	struct stat st;
	int r = 0;

	if (!dir)
		return fd < 0 ? fd : -ENOMEM;
	while (r == 0 && (errno = 0, entry = readdir(dir))) {
		if (path_is_dot_name(entry->d_name))
			continue;
		r = path_append_name(path, entry->d_name, name);
		if (r == 0 && fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			r = -errno;
		if (r == 0)
			r = copy_write_record(copy, file, &st, name, false);
		if (r == 0)
			copy_size_add(&copy->size, &st);
	}
	return r == 0 && errno ? -errno : r;
}

/* Waits until the clock of the file system has gone on, so that a later change of an entry has a later time. */
static int copy_await_tick(const struct copy *copy, int fd)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	struct stat st;

	for (int i = 0; i < COPY_TICK_WAITS_MAX; i++) {
		if (futimens(fd, NULL) < 0 || fstat(fd, &st) < 0)
			return -errno;
		if (times_compare(&st.st_ctim, &copy->last_ctime) > 0)
			return 0;
		(void)nanosleep(&pause, NULL);
	}
	return -ETIME;
}

/* Writes to a shared mapping that was read before, at a later time than the last change of the file. 0 or -errno. */
static int copy_change_by_mapping(struct copy *copy, int fd, int clock_fd, struct stat *ret_before)
{
	volatile char *page = mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	int r = page == MAP_FAILED || fstat(fd, ret_before) < 0 ? -errno : 0;

	if (r < 0)
		return r;
	if (times_compare(&ret_before->st_ctim, &copy->last_ctime) > 0)
		copy->last_ctime = ret_before->st_ctim;
	(void)*page;
	r = copy_await_tick(copy, clock_fd);
	*page = 1;
	(void)munmap((void *)(uintptr_t)page, 1);
	return r;
}

/*
 * Whether a shared mapping changes a file without setting its times, as on tmpfs. Waits as copy_await_tick(). 1, 0 or
 * -errno.
 */
static int copy_misses_mapped_changes(struct copy *copy, int dir_fd, int clock_fd)
{
	_cleanup_close_ int fd = openat(dir_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	struct stat before = {0}, after;
	int r;

	if (fd < 0 || ftruncate(fd, 1) < 0)
		return copy_await_tick(copy, clock_fd) < 0 ? -ETIME : 1;
	r = copy_change_by_mapping(copy, fd, clock_fd, &before);
	if (r < 0)
		return r;
	return fstat(fd, &after) < 0 || times_compare(&after.st_ctim, &before.st_ctim) <= 0;
}

/* Writes the records of all entries into an open file. 0 or -errno. */
static int copy_write_all_records(struct copy *copy, int dir_fd, FILE *file)
{
	struct stat st;
	int r = 0;

	copy->size = copy->before; /* now as it is in the copy */
	for (size_t i = 0; r == 0 && i < copy->dirs; i++)
		r = copy_write_records(copy, file, copy->dir[i]);
	if (r == 0)
		r = copy_misses_mapped_changes(copy, dir_fd, fileno(file));
	if (r < 0)
		return r;
	if (fstat(copy->to_fd, &st) < 0)
		return -errno;
	r = copy_write_record(copy, file, &st, "", r);
	return r == 0 && fflush(file) != 0 ? -errno : r;
}

/* Makes the file of records: from then on the copy is complete. 0 or -errno. */
static int copy_make_records(struct copy *copy, int dir_fd)
{
	const int fd =
		openat(dir_fd, COPY_NEW_RECORDS_NAME, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	_cleanup_fclose_ FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
	int r = file ? copy_write_all_records(copy, dir_fd, file) : -errno;

	if (r == 0 && renameat(dir_fd, COPY_NEW_RECORDS_NAME, dir_fd, COPY_RECORDS_NAME) < 0)
		r = -errno;
	return r < 0 ? copy_fail(copy, r, "",
				 r == -ETIME ? "is on a file system without times" : "cannot be recorded in TMPDIR")
		     : 0;
}

/* ---- the whole tree ---- */

/* Makes the marker, whose time is that of the beginning, and the directory for the copy. A descriptor or -errno. */
static int copy_begin(int dir_fd)
{
	_cleanup_close_ int marker =
		openat(dir_fd, COPY_MARKER_NAME, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (marker < 0 || mkdirat(dir_fd, COPY_DIR_NAME, 0700) < 0)
		return -errno;
	return io_open_dir(dir_fd, COPY_DIR_NAME);
}

/* Notes whether the copy itself has all attributes of the directory. 0 or -errno. */
static int copy_make_root_mark(const struct copy *copy, int dir_fd)
{
	_cleanup_close_ int from = copy_open_dir(copy->from_fd, "");

	return from < 0 ? from : copy_root_attributes(from, copy->to_fd, dir_fd);
}

static void copy_release(struct copy *copy)
{
	for (size_t i = 0; i < copy->dirs; i++)
		free(copy->dir[i]);
	free(copy->dir);
	tdestroy(copy->links, free);
	cleanup_close(&copy->to_fd);
}

int copy_tree(int from_fd, int dir_fd, uint64_t limit_bytes, struct copy_size *size, struct copy_failure *ret_failure)
{
	struct copy copy = {.from_fd = from_fd,
			    .to_fd = copy_begin(dir_fd),
			    .failure = ret_failure,
			    .limit_bytes = limit_bytes,
			    .before = *size,
			    .size = *size};
	int r = copy.to_fd < 0 ? copy_fail(&copy, copy.to_fd, "", "cannot be written to the copy in TMPDIR")
			       : copy_check_size(&copy);

	if (r == 0)
		r = copy_add_dir(&copy, "");
	/* Directories are added while they are copied. No recursion: a program may have nested them thousands deep. */
	for (size_t i = 0; r == 0 && i < copy.dirs; i++)
		r = copy_dir(&copy, copy.dir[i]);
	if (r == 0)
		r = copy_dir_attributes(&copy);
	if (r == 0) /* where it is not made, only the mode is compared */
		(void)copy_make_root_mark(&copy, dir_fd);
	if (r == 0)
		r = copy_make_records(&copy, dir_fd);
	if (r == 0)
		*size = copy.size;
	copy_release(&copy);
	return r;
}
