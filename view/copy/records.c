/* Writes how each entry of a copy was when the program started, and which files are placeholders. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/path.h"
#include "base/times.h"
#include "view/copy/dirs.h"
#include "view/copy/private.h"

#define COPY_NEW_RECORDS_NAME COPY_RECORDS_NAME ".new"
#define COPY_TICK_WAITS_MAX 3000 /* 1 ms each: some file systems have times of 2 s */
#define COPY_HOLE_BYTES 131072   /* of a hole on trial: larger than a block */

/* Writes one record. 0 or -errno. */
static int copy_write_record(struct copy *copy, FILE *file, const struct stat *st, const char *path, unsigned flags)
{
	const struct copy_record record = {.inode = st->st_ino,
					   .ctime_sec = st->st_ctim.tv_sec,
					   .ctime_nsec = (uint32_t)st->st_ctim.tv_nsec,
					   .mode = st->st_mode,
					   .path_len = (uint32_t)strlen(path),
					   .flags = flags};

	if (times_compare(&st->st_ctim, &copy->last_ctime) > 0)
		copy->last_ctime = st->st_ctim;
	if (fwrite(&record, sizeof(record), 1, file) != 1 || fwrite(path, record.path_len + 1, 1, file) != 1)
		return errno ? -errno : -EIO;
	copy->written_bytes += sizeof(record) + record.path_len + 1;
	return 0;
}

static int copy_compare_placeholders(const void *left, const void *right)
{
	const struct copy_placeholder *a = left, *b = right;

	return (a->inode > b->inode) - (a->inode < b->inode);
}

/*
 * Completes a placeholder whose record was just written; of several names of one, any has the content. 0, also for
 * other entries, or -errno.
 */
static int copy_complete_placeholder(struct copy *copy, int dir_fd, const char *name, const struct stat *st,
				     size_t path_len)
{
	const struct copy_placeholder key = {.inode = st->st_ino};
	struct copy_placeholder *found =
		copy->placeholders > 0 && S_ISREG(st->st_mode)
			? bsearch(&key, copy->placeholder, copy->placeholders, sizeof(key), copy_compare_placeholders)
			: NULL;
	struct statx stx;

	if (!found || found->path_len > 0)
		return 0;
	if (statx(dir_fd, name, AT_SYMLINK_NOFOLLOW, STATX_INO | STATX_BTIME, &stx) < 0)
		return -errno;
	if (!(stx.stx_mask & STATX_BTIME) || stx.stx_ino != st->st_ino)
		return -EUCLEAN;
	found->born = (struct copy_time){stx.stx_btime.tv_sec, stx.stx_btime.tv_nsec};
	found->changed = (struct copy_time){st->st_ctim.tv_sec, st->st_ctim.tv_nsec};
	found->mtime = (struct copy_time){st->st_mtim.tv_sec, st->st_mtim.tv_nsec};
	found->blocks = (uint64_t)st->st_blocks;
	found->mode = st->st_mode;
	found->path_len = (uint32_t)path_len;
	found->path_at = copy->written_bytes - path_len - 1;
	return 0;
}

/* Writes the records of a directory's entries. 0 or -errno. */
static int copy_write_records(struct copy *copy, FILE *file, const char *path)
{
	const int fd = copy_open_dir(copy->to_fd, path);
	_cleanup_closedir_ DIR *dir = io_take_dir_stream(fd);
	const struct dirent *entry;
	char name[PATH_MAX];
	struct stat st;
	int r = dir ? 0 : -errno;

	while (r == 0 && (entry = io_read_entry(dir, &r)) && (r = copy_check_go_on(copy)) == 0) {
		r = path_append_name(path, entry->d_name, name);
		if (r == 0 && fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			r = -errno;
		if (r == 0)
			r = copy_write_record(copy, file, &st, name, 0);
		if (r == 0)
			r = copy_complete_placeholder(copy, fd, entry->d_name, &st, strlen(name));
		if (r != 0)
			break;
		copy_size_add_name(&copy->size, &st);
		copy_size_add_content(&copy->size, &st);
	}
	return r;
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

/* Whether SEEK_HOLE finds the holes of a file, also of one that was just written. */
static bool copy_finds_holes(int dir_fd)
{
	_cleanup_close_ int fd = openat(dir_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	const off_t hole = COPY_HOLE_BYTES;

	return fd >= 0 && pwrite(fd, "x", 1, hole) == 1 && ftruncate(fd, 2 * hole) == 0 &&
	       lseek(fd, 0, SEEK_HOLE) == 0 && lseek(fd, hole, SEEK_DATA) == hole &&
	       lseek(fd, hole, SEEK_HOLE) < 2 * hole;
}

/* Writes the records of all entries into an open file. 0 or -errno. */
static int copy_write_all_records(struct copy *copy, int dir_fd, FILE *file)
{
	struct stat st;
	int r = 0;

	copy->size = copy->before; /* now as it is in the copy */
	if (copy->placeholders > 0)
		qsort(copy->placeholder, copy->placeholders, sizeof(*copy->placeholder), copy_compare_placeholders);
	for (size_t i = 0; r == 0 && i < copy->dirs; i++)
		r = copy_write_records(copy, file, copy->dir[i].path);
	if (r == 0)
		r = copy_misses_mapped_changes(copy, dir_fd, fileno(file));
	if (r < 0)
		return r;
	if (fstat(copy->to_fd, &st) < 0)
		return -errno;
	r = copy_write_record(copy, file, &st, "",
			      (r ? COPY_MUST_COMPARE_CONTENTS : 0U) |
				      (copy->placeholders > 0 ? COPY_HAS_PLACEHOLDERS : 0U) |
				      (copy_finds_holes(dir_fd) ? COPY_FINDS_HOLES : 0U));
	return r == 0 && fflush(file) != 0 ? -errno : r;
}

void copy_read_boot_id(char ret_id[COPY_BOOT_ID_SIZE])
{
	if (io_read_once(AT_FDCWD, "/proc/sys/kernel/random/boot_id", ret_id, COPY_BOOT_ID_SIZE) < 0)
		*ret_id = '\0';
}

/* Writes which files are placeholders. records_fd: the file of records. 0 or -errno. */
static int copy_write_placeholders(const struct copy *copy, int dir_fd, int records_fd)
{
	struct copy_placeholders_head head = {.magic = COPY_PLACEHOLDERS_MAGIC, .count = copy->placeholders};
	_cleanup_close_ int fd = -1;
	struct statx stx;
	int r;

	for (size_t i = 0; i < copy->placeholders; i++)
		if (copy->placeholder[i].path_len == 0)
			return -EUCLEAN; /* something else has changed the copy */
	if (copy->placeholders == 0)
		return 0;
	if (statx(records_fd, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &stx) < 0)
		return -errno;
	head.records_inode = stx.stx_ino;
	head.records_born = (struct copy_time){stx.stx_btime.tv_sec, stx.stx_btime.tv_nsec};
	copy_read_boot_id(head.boot_id);
	fd = openat(dir_fd, COPY_PLACEHOLDERS_NAME, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	r = io_write_all(fd, &head, sizeof(head));
	return r < 0 ? r : io_write_all(fd, copy->placeholder, copy->placeholders * sizeof(*copy->placeholder));
}

/* Writes which directories were copied. One that cannot be found any more is left. 0 or -errno. */
static int copy_write_dirs(const struct copy *copy, int dir_fd)
{
	const int fd = openat(dir_fd, VIEW_DIRS_NAME, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	_cleanup_fclose_ FILE *file = fd < 0 ? NULL : fdopen(fd, "w");

	for (size_t i = 0; file && i < copy->dirs; i++) {
		const char *path = copy->dir[i].path;
		struct view_dir_record record;
		struct stat st;

		if (!*path || fstatat(copy->from_fd, path, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISDIR(st.st_mode))
			continue;
		record = view_make_dir_record(&st, path);
		if (fwrite(&record, sizeof(record), 1, file) != 1 || fwrite(path, record.path_len, 1, file) != 1)
			return errno ? -errno : -EIO;
	}
	return file && fflush(file) == 0 ? 0 : -errno;
}

int copy_make_records(struct copy *copy, int dir_fd)
{
	const int fd =
		openat(dir_fd, COPY_NEW_RECORDS_NAME, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	_cleanup_fclose_ FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
	int r = file ? copy_write_all_records(copy, dir_fd, file) : -errno;

	if (r == 0)
		r = copy_write_placeholders(copy, dir_fd, fileno(file));
	if (r == 0)
		r = copy_write_dirs(copy, dir_fd);
	if (r == 0 && renameat(dir_fd, COPY_NEW_RECORDS_NAME, dir_fd, COPY_RECORDS_NAME) < 0)
		r = -errno;
	return r < 0 ? copy_fail(copy, r, "",
				 r == -ETIME ? "is on a file system without times" : "cannot be recorded in TMPDIR")
		     : 0;
}
