#include "view/copy/fill.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/times.h"
#include "view/copy/fill-private.h"

#define FILL_TICK_WAITS_MAX 3000 /* 1 ms each: some file systems have times of 2 s */
#define FILL_TICK_MAX_NS (FILL_TICK_WAITS_MAX * UINT64_C(1000000))

/* ---- reading the two files ---- */

static int fill_compare_inode(const void *inode, const void *placeholder)
{
	const uint64_t a = *(const uint64_t *)inode, b = ((const struct copy_placeholder *)placeholder)->inode;

	return (a > b) - (a < b);
}

static struct fill_file *fills_find_inode(const struct fills *fills, uint64_t inode)
{
	const struct copy_placeholder *made =
		fills->made ? bsearch(&inode, fills->made, fills->count, sizeof(*fills->made), fill_compare_inode)
			    : NULL;

	return made ? &fills->file[made - fills->made] : NULL;
}

int fills_read_records(int layer_fd, struct fill_record **ret_records, size_t *ret_count)
{
	char *text = NULL;
	size_t len = 0;
	int r = io_read_file(layer_fd, FILLS_NAME, FILLS_RECORDS_MAX * sizeof(**ret_records), &text, &len);

	if (r < 0 && r != -ENOENT)
		return r;
	*ret_records = (struct fill_record *)(void *)text; /* from malloc(), so it is aligned */
	*ret_count = len / sizeof(**ret_records);          /* one that was not wholly written was not acted on */
	return 0;
}

/* Applies what became of the placeholders. *filled_bytes grows by those that are new with content. 0 or -errno. */
static int fills_load_records(struct fills *fills, uint64_t *filled_bytes)
{
	_cleanup_free_ struct fill_record *record = NULL;
	size_t count;
	int r = fills_read_records(fills->layer_fd, &record, &count);

	if (r < 0)
		return r;
	for (size_t i = 0; i < count; i++) {
		struct fill_file *file = fills_find_inode(fills, record[i].inode);

		if (record[i].inode == 0)
			continue; /* zeros, which a crash of the machine has left */
		if (!file)
			return -EBADMSG;
		if (file->state == FILL_BEGUN)
			continue;
		if (file->state != FILL_DONE && record[i].state == FILL_DONE)
			*filled_bytes += fills->made[file - fills->file].source_bytes;
		file->state = (enum fill_state)record[i].state;
		file->kept = fill_get_time(&record[i].kept);
		file->record_at = (off_t)(i * sizeof(*record));
	}
	if (count > 0) { /* perhaps just now, by the setup of this run */
		fills->last_filled_ns = io_read_clock_ns();
		if (fills->fd < 0)
			fills->fd = openat(fills->layer_fd, FILLS_NAME, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	}
	return 0;
}

uint64_t fills_reload(struct fills *fills)
{
	uint64_t filled_bytes = 0;

	fills->is_unknown = fills_load_records(fills, &filled_bytes) < 0;
	return filled_bytes;
}

/*
 * False: the layer is a copy of one, as by cp(1). All inode numbers are others there, and each placeholder would pass
 * for a file with content.
 */
static bool fills_are_in_place(const struct copy_placeholders_head *head, int records_fd)
{
	struct statx stx;

	return statx(records_fd, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &stx) == 0 && stx.stx_mask & STATX_BTIME &&
	       stx.stx_ino == head->records_inode && stx.stx_btime.tv_sec == head->records_born.sec &&
	       stx.stx_btime.tv_nsec == head->records_born.nsec;
}

/* Maps the file that has the paths, which is not changed any more. 0 or -errno. */
static int fills_map_paths(struct fills *fills, const struct copy_placeholders_head *head)
{
	_cleanup_close_ int fd = openat(fills->layer_fd, COPY_RECORDS_NAME, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	struct copy_record last;
	struct stat st;
	void *paths;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (st.st_size == 0)
		return -EBADMSG;
	paths = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (paths == MAP_FAILED)
		return -errno;
	fills->paths = paths;
	fills->paths_len = (size_t)st.st_size;
	if (fills->paths_len > sizeof(last)) { /* followed by the path "" */
		memcpy(&last, fills->paths + fills->paths_len - 1 - sizeof(last), sizeof(last));
		fills->finds_holes = last.flags & COPY_FINDS_HOLES;
	}
	return fills_are_in_place(head, fd) ? 0 : -EBADMSG;
}

/* Whether the path of a placeholder is where it says. */
static bool fills_has_path(const struct fills *fills, const struct copy_placeholder *made)
{
	return made->path_at < fills->paths_len && made->path_len < fills->paths_len - made->path_at &&
	       made->path_len > 0 && fills->paths[made->path_at + made->path_len] == '\0';
}

/* Checks the form of what was read of COPY_PLACEHOLDERS_NAME. 0 or -EBADMSG. */
static int fills_parse_placeholders(struct fills *fills, size_t len)
{
	const struct copy_placeholders_head *head = (const void *)fills->text; /* from malloc(), so it is aligned */

	if (len < sizeof(*head) || memcmp(head->magic, COPY_PLACEHOLDERS_MAGIC, sizeof(head->magic)) != 0 ||
	    head->count > COPY_ENTRIES_MAX || len != sizeof(*head) + head->count * sizeof(*fills->made))
		return -EBADMSG;
	fills->made = (const void *)(fills->text + sizeof(*head));
	fills->count = head->count;
	for (size_t i = 0; i < fills->count; i++) /* a crash of the machine may have left zeros */
		if (fills->made[i].inode <= (i > 0 ? fills->made[i - 1].inode : 0))
			return -EBADMSG;
	return 0;
}

/* Whether the machine was started since the copy was made, or that cannot be told. */
static bool fills_are_after_restart(const struct fills *fills, const struct copy_placeholders_head *head)
{
	char boot_id[COPY_BOOT_ID_SIZE];

	if (fills->is_live)
		return false;
	copy_read_boot_id(boot_id);
	return !*boot_id || strncmp(boot_id, head->boot_id, sizeof(boot_id)) != 0;
}

/* Reads which placeholders were made. 0 or -errno. */
static int fills_load_placeholders(struct fills *fills)
{
	const struct copy_placeholders_head *head;
	size_t len;
	int r = io_read_file(fills->layer_fd, COPY_PLACEHOLDERS_NAME,
			     sizeof(*head) + COPY_ENTRIES_MAX * sizeof(*fills->made), &fills->text, &len);

	if (r == 0)
		r = fills_parse_placeholders(fills, len);
	if (r < 0)
		return r;
	head = (const void *)fills->text;
	fills->is_after_restart = fills_are_after_restart(fills, head);
	r = fills_map_paths(fills, head);
	if (r < 0)
		return r;
	fills->file = calloc(fills->count + 1, sizeof(*fills->file));
	if (!fills->file)
		return -ENOMEM;
	for (size_t i = 0; i < fills->count; i++) {
		const struct copy_placeholder *made = &fills->made[i];

		if (!fills_has_path(fills, made))
			return -EBADMSG;
		fills->file[i] =
			(struct fill_file){.made = made, .kept = fill_get_time(&made->changed), .record_at = -1};
	}
	return 0;
}

int fills_open(int layer_fd, int base_fd, bool is_live, struct fills **ret_fills)
{
	struct fills *fills = calloc(1, sizeof(*fills));
	uint64_t filled_bytes = 0; /* before */
	int r;

	if (!fills)
		return -ENOMEM;
	fills->fd = -1;
	fills->is_live = is_live;
	fills->base_fd = fcntl(base_fd, F_DUPFD_CLOEXEC, 3);
	fills->layer_fd = fcntl(layer_fd, F_DUPFD_CLOEXEC, 3);
	r = fills->base_fd < 0 || fills->layer_fd < 0 ? -errno : fills_load_placeholders(fills);
	if (r == 0)
		r = fills_load_records(fills, &filled_bytes);
	if (r < 0)
		fills_free(fills);
	else
		*ret_fills = fills;
	return r;
}

void fills_free(struct fills *fills)
{
	if (!fills)
		return;
	cleanup_close(&fills->base_fd);
	cleanup_close(&fills->layer_fd);
	cleanup_close(&fills->fd);
	free(fills->text);
	free(fills->file);
	if (fills->paths)
		(void)munmap(fills->paths, fills->paths_len);
	free(fills);
}

/* ---- finding ---- */

/* True when this is the file that was made as placeholder, and not a newer one with its number. */
static bool fill_file_is_born_then(const struct fill_file *file, int dir_fd, const char *name)
{
	const int flags = *name ? AT_SYMLINK_NOFOLLOW : AT_EMPTY_PATH;
	struct statx stx;

	return statx(dir_fd, name, flags, STATX_INO | STATX_BTIME, &stx) == 0 && stx.stx_mask & STATX_BTIME &&
	       stx.stx_ino == file->made->inode && stx.stx_btime.tv_sec == file->made->born.sec &&
	       stx.stx_btime.tv_nsec == file->made->born.nsec;
}

/*
 * Opens a file to look for holes. The program may have made it unreadable: then its time of change is no longer that of
 * its record, and changing the mode for a moment does not make it count as changed. A descriptor or -errno.
 */
static int fill_open_to_look(int dir_fd, const char *name, const struct stat *st)
{
	const int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
	_cleanup_close_ int entry = openat(*name ? dir_fd : AT_FDCWD, *name ? name : io_proc_fd_path(dir_fd).path,
					   O_PATH | O_CLOEXEC | (*name ? O_NOFOLLOW : 0));
	const struct io_proc_fd_path path = io_proc_fd_path(entry);
	int fd = entry < 0 ? -1 : open(path.path, flags);

	if (fd >= 0 || errno != EACCES || entry < 0)
		return fd < 0 ? -errno : fd;
	if (chmod(path.path, (st->st_mode & 07777) | S_IRUSR) < 0)
		return -errno;
	fd = open(path.path, flags);
	(void)chmod(path.path, st->st_mode & 07777);
	return fd;
}

/* Whether a file has no hole. False also where that cannot be told. */
static bool fill_is_without_hole(const struct fills *fills, int dir_fd, const char *name, const struct stat *st)
{
	_cleanup_close_ int fd = -1;

	if (st->st_size == 0)
		return true;
	/* Where SEEK_HOLE finds no holes. Not elsewhere: content that is compressed takes fewer blocks, too. */
	if (!fills->finds_holes && (uint64_t)st->st_blocks * 512 < (uint64_t)st->st_size)
		return false;
	fd = fill_open_to_look(dir_fd, name, st);
	return fd >= 0 && lseek(fd, 0, SEEK_HOLE) == st->st_size;
}

/* Whether a file has the attributes of its placeholder still. */
static bool fill_has_attributes_as_made(const struct copy_placeholder *made, const struct stat *st)
{
	return (uint64_t)st->st_size == made->size && st->st_mode == made->mode &&
	       fill_is_time(&made->mtime, &st->st_mtim);
}

/*
 * Whether the program may have changed a file that was filled. One with an earlier time than that at which it was
 * filled has lost this in a crash, and the program had not got it before.
 */
static bool fill_file_may_be_changed(const struct fill_file *file, const struct stat *st, bool is_as_made)
{
	const int order = times_compare(&st->st_ctim, &file->kept);

	return file->kept.tv_sec == 0 || order > 0 || (order < 0 && !is_as_made);
}

/*
 * Whether a file has not its content, or that cannot be told (is_torn). On the disk, its record may be older than the
 * file, or newer, when the machine has crashed.
 */
static bool fill_file_is_without_content(const struct fills *fills, struct fill_file *file, int dir_fd,
					 const char *name, const struct stat *st)
{
	const bool is_as_made = fill_has_attributes_as_made(file->made, st);

	/* Until a restart the record is right. The blocks may differ: not each file system frees those of a hole. */
	if (!fills->is_after_restart && (file->state == FILL_BEGUN || is_as_made))
		return true;
	if (file->state != FILL_DONE && is_as_made && (uint64_t)st->st_blocks == file->made->blocks)
		return true;
	/* One that was begun and has other attributes may have been left half-way by a run that was killed. */
	if ((file->state != FILL_BEGUN || is_as_made) && fill_is_without_hole(fills, dir_fd, name, st))
		return false;
	file->is_torn = file->state == FILL_DONE ? fill_file_may_be_changed(file, st, is_as_made) : !is_as_made;
	return true;
}

struct fill_file *fills_find(const struct fills *fills, int dir_fd, const char *name, const struct stat *st)
{
	struct fill_file *file = S_ISREG(st->st_mode) ? fills_find_inode(fills, st->st_ino) : NULL;

	if (!file || (file->state == FILL_DONE && !fills->is_after_restart) ||
	    (fills->is_live && file->made->device != st->st_dev))
		return NULL;
	return fill_file_is_born_then(file, dir_fd, name) && fill_file_is_without_content(fills, file, dir_fd, name, st)
		       ? file
		       : NULL;
}

uint64_t fill_file_get_bytes(const struct fill_file *file)
{
	return file->made->source_bytes;
}

uint64_t fills_get_bytes_by_status(const struct fills *fills, const struct stat *st)
{
	const struct fill_file *file = S_ISREG(st->st_mode) ? fills_find_inode(fills, st->st_ino) : NULL;

	return file && file->state != FILL_DONE && (uint64_t)st->st_size == file->made->size &&
			       file->made->device == st->st_dev
		       ? file->made->source_bytes
		       : 0;
}

/* ---- the file that has the content ---- */

static bool fill_source_is_as_copied(const struct fill_file *file, const struct stat *st)
{
	const struct copy_placeholder *made = file->made;

	return st->st_ino == made->source_inode && (uint64_t)st->st_size == made->size &&
	       fill_is_time(&made->source_mtime, &st->st_mtim) && fill_is_time(&made->source_ctime, &st->st_ctim);
}

int fills_open_source(const struct fills *fills, const struct fill_file *file, unsigned flags, struct stat *ret_st)
{
	const char *path = fills->paths + file->made->path_at;
	_cleanup_close_ int fd = -1;
	struct stat st;

	do /* the watchdog interrupts what takes long */
		fd = io_open_keeping_atime(fills->base_fd, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY,
					   IO_RESOLVE_BELOW | RESOLVE_NO_XDEV);
	while (fd == -EINTR);
	if (fd == -ENOENT || fd == -ENOTDIR || fd == -ELOOP || fd == -ENXIO || fd == -EXDEV || fd == -EACCES)
		return -ESTALE;
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || (flags & FILL_AS_COPIED && !fill_source_is_as_copied(file, &st)))
		return -ESTALE;
	*ret_st = st;
	return steal_fd(&fd);
}

/* ---- changes after filling ---- */

/* Whether a later change of the file would have another time of change. */
static bool fills_has_ticked(const struct fills *fills, const struct fill_file *file)
{
	struct stat st;

	return fills->fd < 0 || futimens(fills->fd, NULL) < 0 || fstat(fills->fd, &st) < 0 ||
	       times_compare(&st.st_ctim, &file->kept) > 0;
}

void fills_await_change(const struct fills *fills, int dir_fd, const char *name)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	const struct fill_file *file;
	struct stat st;

	if (fills->last_filled_ns == 0 || io_read_clock_ns() - fills->last_filled_ns > FILL_TICK_MAX_NS)
		return;
	if (fstatat(dir_fd, name, &st, *name ? AT_SYMLINK_NOFOLLOW : AT_EMPTY_PATH) < 0)
		return;
	file = fills_find_inode(fills, st.st_ino);
	if (!file || file->state == FILL_NONE || times_compare(&st.st_ctim, &file->kept) != 0)
		return;
	for (int i = 0; i < FILL_TICK_WAITS_MAX && !fills_has_ticked(fills, file); i++)
		(void)nanosleep(&pause, NULL);
}
