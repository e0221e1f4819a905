/* Gives a placeholder its content, and records that before and afterwards. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/times.h"
#include "view/copy/fill-private.h"

#define FILL_ATTEMPTS_MAX 3                        /* how often a file that is changed meanwhile is read again */
#define FILL_KEPT_FREE_PART 64                     /* 1/64 of a file system stays free for others, as when copying */
#define FILL_CHECKED_BYTES_MIN (UINT64_C(1) << 20) /* for less, the room on the disk is not looked at */
#define FILL_CAPABILITY_BYTES_MAX 64               /* of the attribute, which has 24 at most */
#define FILL_BLOCK_BYTES_MAX 65536                 /* largest block of a file system, and largest page */

/* ---- records of what is done ---- */

/* Opens the file of records. 0 or -errno. */
static int fills_open_records(struct fills *fills)
{
	if (fills->fd < 0) {
		fills->fd = openat(fills->layer_fd, FILLS_NAME, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (fills->fd >= 0)
			(void)fchmod(fills->fd, 0600); /* the umask may be that of the target */
	}
	return fills->fd < 0 ? -errno : 0;
}

/* Writes the record of a file: over its former one, or as a new one. 0, or -errno, and nothing was written. */
static int fills_write_record(struct fills *fills, struct fill_file *file, const struct fill_record *record)
{
	const bool is_new = file->record_at < 0;
	off_t at = file->record_at;
	ssize_t done;
	int r = fills_open_records(fills);

	if (r < 0)
		return r;
	if (is_new) {
		struct stat st;

		if (fstat(fills->fd, &st) < 0)
			return -errno;
		at = st.st_size - st.st_size % (off_t)sizeof(*record);
		if ((uint64_t)at >= FILLS_RECORDS_MAX * sizeof(*record))
			return -ENOSPC;
	}
	done = TEMP_FAILURE_RETRY(pwrite(fills->fd, record, sizeof(*record), at));
	if (done == (ssize_t)sizeof(*record)) {
		file->record_at = at;
		return 0;
	}
	r = done < 0 ? -errno : -ENOSPC;
	if (is_new)
		(void)!ftruncate(fills->fd, at);
	return r;
}

/* Reads the record of a file that another process had begun to fill. 0 or -errno. */
static int fills_read_begun(struct fills *fills, const struct fill_file *file, struct fill_record *ret_record)
{
	int r = fills_open_records(fills);

	if (r < 0)
		return r;
	return TEMP_FAILURE_RETRY(pread(fills->fd, ret_record, sizeof(*ret_record), file->record_at)) ==
			       (ssize_t)sizeof(*ret_record)
		       ? 0
		       : -EIO;
}

/* ---- filling ---- */

/* A file that is being filled. */
struct filling {
	struct fills *fills;
	struct fill_file *file;
	int fd;                     /* it, perhaps with O_PATH */
	int to_fd, from_fd;         /* it, for writing; the file of the directory */
	struct stat before, source; /* of fd before; of from_fd */
	unsigned flags;             /* enum fill_flag */
	const struct io_go_on *go_on; /* may be NULL */
	bool is_kept;               /* the program has not changed it */
	bool may_have_content;      /* another process had begun to fill it */
	struct fill_record record;
	char capability
		[FILL_CAPABILITY_BYTES_MAX]; /* the attribute, which the kernel removes when a file is written to */
	ssize_t capability_len;
};

/* Notes how the file is, before anything of it is changed. 0 or -errno. */
static int filling_begin(struct filling *filling)
{
	struct fill_file *file = filling->file;
	int r = 0;

	if (fstat(filling->fd, &filling->before) < 0)
		return -errno;
	filling->may_have_content =
		file->state == FILL_BEGUN || (uint64_t)filling->before.st_blocks != file->made->blocks;
	filling->is_kept = file->state != FILL_BEGUN && filling->before.st_mode == file->made->mode &&
			   times_compare(&filling->before.st_ctim, &file->kept) == 0;
	if (file->state == FILL_BEGUN)
		r = fills_read_begun(filling->fills, file, &filling->record);
	else
		filling->record = (struct fill_record){.inode = file->made->inode,
						       .mode = filling->before.st_mode,
						       .mtime = fill_make_time(&filling->before.st_mtim),
						       .atime = fill_make_time(&filling->before.st_atim)};
	if (r < 0)
		return r;
	filling->record.state = FILL_BEGUN;
	filling->record.kept = (struct copy_time){0};
	r = fills_write_record(filling->fills, file, &filling->record);
	if (r == 0)
		file->state = FILL_BEGUN;
	return r;
}

/* Opens the file for writing, also where its mode does not permit that. 0 or -errno. */
static int filling_open(struct filling *filling)
{
	const struct io_proc_fd_path path = io_proc_fd_path(filling->fd);

	filling->capability_len =
		getxattr(path.path, "security.capability", filling->capability, sizeof(filling->capability));
	if (!(filling->before.st_mode & S_IWUSR) && chmod(path.path, (filling->before.st_mode & 07777) | S_IWUSR) < 0)
		return -errno;
	filling->to_fd = open(path.path, O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	return filling->to_fd < 0 ? -errno : 0;
}

/* -ENOSPC unless the file system has room for the content, and some for others. */
static int filling_check_room(const struct filling *filling)
{
	const uint64_t bytes = (uint64_t)filling->source.st_blocks * 512;
	struct statvfs fs;

	if (bytes < FILL_CHECKED_BYTES_MIN || fstatvfs(filling->to_fd, &fs) < 0)
		return 0; /* then writing tells */
	return (uint64_t)fs.f_bavail * fs.f_frsize < bytes + (uint64_t)fs.f_blocks * fs.f_frsize / FILL_KEPT_FREE_PART
		       ? -ENOSPC
		       : 0;
}

/*
 * Makes a file one hole of a size. 0 or -errno. Not by ftruncate(2) to 0 if possible: a file that is empty after a
 * crash of the machine is one that the program has emptied. A hole that ends within a block leaves that block there,
 * with zeros, also where the file ends: so it ends after it.
 */
static int filling_make_hole(int fd, off_t size)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (st.st_size > 0 &&
	    fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
		      (st.st_size | (FILL_BLOCK_BYTES_MAX - 1)) + 1) < 0 &&
	    ftruncate(fd, 0) < 0)
		return -errno;
	return ftruncate(fd, size) < 0 ? -errno : 0;
}

/* Copies the content once. 1: it was changed meanwhile; 0; or -errno. */
static int filling_copy_once(struct filling *filling)
{
	struct stat now;
	int r;

	if (fstat(filling->from_fd, &filling->source) < 0)
		return -errno;
	if (filling->may_have_content) {
		r = filling_make_hole(filling->to_fd, filling->before.st_size);
		if (r < 0)
			return r;
	}
	filling->may_have_content = true;
	if (ioctl(filling->to_fd, FICLONE, filling->from_fd) != 0) {
		r = filling_check_room(filling);
		if (r == 0)
			r = io_copy_sparse(filling->from_fd, filling->to_fd, filling->go_on);
		if (r < 0)
			return r;
	}
	if (fstat(filling->from_fd, &now) < 0)
		return -errno;
	return now.st_size != filling->source.st_size || times_compare(&now.st_mtim, &filling->source.st_mtim) != 0 ||
	       times_compare(&now.st_ctim, &filling->source.st_ctim) != 0;
}

/*
 * Copies the content. One that is changed again and again, as a log, is taken as it was read, like by cp(1). 0 or
 * -errno.
 */
static int filling_copy(struct filling *filling)
{
	struct stat now;
	int r = 1;

	for (int i = 0; r == 1 && i < FILL_ATTEMPTS_MAX; i++)
		r = filling_copy_once(filling);
	if (r < 0)
		return r;
	if (filling->flags & FILL_AS_COPIED &&
	    (r == 1 || !fill_is_time(&filling->file->made->source_ctime, &filling->source.st_ctim)))
		return -ESTALE; /* it was changed while it was read */
	if (fstat(filling->to_fd, &now) < 0)
		return -errno;
	/* The placeholder was larger: the file became shorter since. */
	return now.st_size > filling->source.st_size && ftruncate(filling->to_fd, filling->source.st_size) < 0 ? -errno
													       : 0;
}

/* Makes the file a placeholder again. 0 or -errno. */
static int filling_empty(const struct filling *filling)
{
	return filling->to_fd >= 0 ? filling_make_hole(filling->to_fd, filling->before.st_size) : 0;
}

/* Gives the file the attributes that it had, and the time of the content that it got. 0 or -errno. */
static int filling_restore_attributes(const struct filling *filling, bool is_filled)
{
	const struct io_proc_fd_path path = io_proc_fd_path(filling->fd);
	struct timespec times[2] = {fill_get_time(&filling->record.atime), fill_get_time(&filling->record.mtime)};
	struct stat now;

	if (is_filled && fill_is_time(&filling->file->made->source_mtime, &times[1]))
		times[1] = filling->source.st_mtim;
	if (fstat(filling->fd, &now) < 0)
		return -errno;
	if (filling->capability_len > 0) /* fails for who may not set it */
		(void)setxattr(path.path, "security.capability", filling->capability, (size_t)filling->capability_len,
			       0);
	/* Writing also removes set-id bits. */
	if (now.st_mode != filling->record.mode && chmod(path.path, filling->record.mode & 07777) < 0)
		return -errno;
	return utimensat(AT_FDCWD, path.path, times, 0) < 0 ? -errno : 0;
}

/* Records what the file is now. 0 or -errno; then it is in doubt. */
static int filling_end(struct filling *filling, bool is_filled, unsigned flags)
{
	struct fill_file *file = filling->file;
	struct stat now;
	int r = filling_restore_attributes(filling, is_filled);

	if (r < 0)
		return r;
	if (fstat(filling->fd, &now) < 0)
		return -errno;
	file->kept = filling->is_kept && !(is_filled && flags & FILL_FOR_CHANGE) ? now.st_ctim : (struct timespec){0};
	filling->record.state = is_filled ? FILL_DONE : FILL_UNDONE;
	filling->record.kept = fill_make_time(&file->kept);
	r = fills_write_record(filling->fills, file, &filling->record);
	if (r == 0)
		file->state = (enum fill_state)filling->record.state;
	if (file->kept.tv_sec != 0)
		filling->fills->last_filled_ns = io_read_clock_ns();
	return r;
}

int fills_check(const struct fills *fills, const struct fill_file *file)
{
	if (file->is_torn)
		return -EUCLEAN;
	return file->is_in_doubt || fills->is_unknown ? -EIO : 0;
}

int fills_fill_from(struct fills *fills, struct fill_file *file, int fd, int source_fd, unsigned flags,
		    const struct io_go_on *go_on)
{
	struct filling filling = {.fills = fills,
				  .file = file,
				  .fd = fd,
				  .to_fd = -1,
				  .from_fd = source_fd,
				  .flags = flags,
				  .go_on = go_on};
	int end, r = fills_check(fills, file);

	if (r < 0)
		return r;
	r = filling_begin(&filling);
	if (r == 0) {
		r = filling_open(&filling);
		if (r == 0)
			r = filling_copy(&filling);
		end = r < 0 ? filling_empty(&filling) : 0;
		if (end == 0)
			end = filling_end(&filling, r == 0, flags);
		file->is_in_doubt = end < 0;
		if (end < 0)
			(void)filling_restore_attributes(
				&filling, false); /* if this fails, it is done when the file is filled again */
		r = end < 0 ? -EIO : r;
	}
	cleanup_close(&filling.to_fd);
	return r;
}

int fills_fill(struct fills *fills, struct fill_file *file, int fd, unsigned flags)
{
	struct stat st;
	_cleanup_close_ int source = fills_open_source(fills, file, flags, &st);

	return source < 0 ? source : fills_fill_from(fills, file, fd, source, flags, NULL);
}

/* ---- emptying ---- */

/* The record of a file that no process fills. */
static struct fill_record fill_make_record(const struct fill_file *file, enum fill_state state)
{
	return (struct fill_record){.inode = file->made->inode,
				    .state = state,
				    .mode = file->made->mode,
				    .mtime = file->made->mtime,
				    .atime = file->made->mtime};
}

bool fills_may_empty(struct fills *fills, struct fill_file *file)
{
	const struct fill_record record = fill_make_record(file, FILL_UNDONE);

	/* One in doubt was begun. What is recorded later has its place now, before the program's content is there. */
	return file->state != FILL_BEGUN && file->state != FILL_DONE && !fills->is_unknown &&
	       fills_write_record(fills, file, &record) == 0;
}

void fills_note_emptied(struct fills *fills, struct fill_file *file, int fd)
{
	const struct fill_record record = fill_make_record(file, FILL_DONE);
	struct stat st;

	if (fstat(fd, &st) < 0 || st.st_ino != file->made->inode || st.st_size != 0)
		return;
	(void)fills_write_record(fills, file, &record);
	file->state = FILL_DONE;
	file->kept = (struct timespec){0};
}
