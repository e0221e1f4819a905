#include "syscalls/account/workspace/bases.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/times.h"
#include "syscalls/account/result/changes.h"
#include "syscalls/account/workspace/dirs.h"
#include "syscalls/account/limits/disk.h"
#include "syscalls/account/workspace/layer-file.h"
#include "view/copy/attributes.h"
#include "view/copy/fill.h"

/* What must be free in the file system of TMPDIR, for the program: so many times the file, and 1/64 of all. */
#define BASES_FREE_TIMES 4
#define BASES_FREE_PART 64

/* A file that is to be kept. */
struct base {
	struct view_layer *layer;
	const char *path; /* below the directory */
	struct stat status;
	bool has_attributes; /* status, and xattrs, are those of what is kept */
	char xattrs[SHA256_HEX_SIZE];
};

/* Opens what is at the place before the call: O_PATH, in the directory itself or in the copy. -1: nothing is there. */
static int base_find(const struct place *place, struct base *ret_base)
{
	struct view_layer *layer = place->mount->layer;
	_cleanup_close_ int fd =
		openat2_retry(layer->lower_fd < 0 ? place->mount->fd : layer->lower_fd, place->path_below_mount_fd,
			      O_PATH | O_NOFOLLOW, 0, IO_RESOLVE_BELOW | RESOLVE_NO_XDEV);

	if (fd < 0 || fstat(fd, &ret_base->status) < 0 || S_ISDIR(ret_base->status.st_mode))
		return -1;
	ret_base->layer = layer;
	ret_base->path = place->path_below_mount_fd;
	return steal_fd(&fd);
}

/* Opens the file of records. A descriptor, borrowed, or -errno. */
static int base_open_records(struct view_layer *layer)
{
	if (layer->bases_fd < 0)
		layer->bases_fd = layer_open_records(layer, BASES_NAME);
	return layer->bases_fd;
}

/* Whether the file is as it was when it was found. */
static bool base_is_unchanged(const struct base *base, int fd)
{
	struct stat now;

	return fstat(fd, &now) == 0 && now.st_size == base->status.st_size &&
	       times_compare(&now.st_mtim, &base->status.st_mtim) == 0 &&
	       times_compare(&now.st_ctim, &base->status.st_ctim) == 0;
}

static struct base_attributes base_make_attributes(const struct base *base)
{
	struct base_attributes attributes = {.mtime_s = base->status.st_mtim.tv_sec,
					     .mtime_ns = (uint32_t)base->status.st_mtim.tv_nsec,
					     .ctime_s = base->status.st_ctim.tv_sec,
					     .ctime_ns = (uint32_t)base->status.st_ctim.tv_nsec,
					     .size = (uint64_t)base->status.st_size,
					     .mode = base->status.st_mode,
					     .uid = base->status.st_uid,
					     .gid = base->status.st_gid};

	memcpy(attributes.xattrs, base->xattrs, sizeof(attributes.xattrs));
	return attributes;
}

/* Writes the head of a record, of which `len` bytes will follow. False: not wholly. */
static bool base_write_head(const struct base *base, int to_fd, enum base_kind kind, size_t len)
{
	struct base_attributes attributes = base_make_attributes(base);
	struct base_record record = {.inode = base->status.st_ino,
				     .kind = kind,
				     .path_len = (uint32_t)strlen(base->path),
				     .content_len = (uint32_t)len,
				     .attributes_len = base->has_attributes ? sizeof(attributes) : 0};
	struct iovec part[] = {{&record, sizeof(record)},
			       {(void *)(uintptr_t)base->path, record.path_len},
			       {&attributes, record.attributes_len}};

	return writev(to_fd, part, sizeof(part) / sizeof(part[0])) ==
	       (ssize_t)(sizeof(record) + record.path_len + record.attributes_len);
}

/* Removes a record that was not completed. */
static void base_remove_record(int fd, off_t at)
{
	(void)!ftruncate(fd, at);
	(void)lseek(fd, at, SEEK_SET);
}

/* What the record of a base takes, with `len` bytes of content or text. */
static uint64_t base_get_record_bytes(const struct base *base, uint64_t len)
{
	return sizeof(struct base_record) + strlen(base->path) +
	       (base->has_attributes ? sizeof(struct base_attributes) : 0) + len;
}

/*
 * Counts the bytes of a record: a program may touch one file without end, under ever new names. False: no record may
 * take so many.
 */
static bool base_take_bytes(struct call *call, uint64_t bytes)
{
	if (bytes > BASES_BYTES_MAX - call->sandbox->bases_bytes || !disk_take_bytes(call, bytes))
		return false;
	call->sandbox->bases_bytes += bytes;
	return true;
}

static void base_give_back_bytes(struct call *call, uint64_t bytes)
{
	disk_give_back_bytes(call, bytes);
	call->sandbox->bases_bytes -= bytes;
}

/* Writes a record with a text. If that is not possible, it can be seen of the file, which takes no room. */
static void base_write_text(struct call *call, const struct base *base, enum base_kind kind, const char *text)
{
	const uint64_t bytes = base_get_record_bytes(base, strlen(text));
	const int fd = base_open_records(base->layer);
	const off_t at = fd < 0 ? -1 : lseek(fd, 0, SEEK_CUR);

	if (fd < 0)
		return;
	if (base_take_bytes(call, bytes)) {
		if (base_write_head(base, fd, kind, strlen(text)) && io_write_all(fd, text, strlen(text)) == 0)
			return;
		base_remove_record(fd, at);
		base_give_back_bytes(call, bytes);
	}
	(void)fchmod(fd, 0600 | S_ISVTX);
}

/* Writes a record with the content of a file, which must not change meanwhile. NULL, or why that was not possible. */
static const char *base_write_content(const struct base *base, int from_fd)
{
	const int fd = base_open_records(base->layer);
	const off_t at = fd < 0 ? -1 : lseek(fd, 0, SEEK_CUR);
	const uint64_t len = (uint64_t)base->status.st_size;
	uint64_t copied = 0;
	const char *why = NULL;

	if (fd < 0 || !base_write_head(base, fd, BASE_CONTENT, len) || io_copy_bytes(from_fd, fd, len, &copied) < 0)
		why = "it could not be copied";
	else if (copied != len || !base_is_unchanged(base, from_fd))
		why = "it was changed outside at that time";
	if (why && fd >= 0)
		base_remove_record(fd, at);
	return why;
}

/* Whether the file system of TMPDIR has room for so many bytes more, for the overlay's copy, and for the program. */
static bool base_has_room(const struct base *base, uint64_t bytes)
{
	struct statvfs fs;

	return fstatvfs(base->layer->dir_fd, &fs) < 0 ||
	       (uint64_t)fs.f_bavail * fs.f_frsize >=
		       bytes * BASES_FREE_TIMES + (uint64_t)fs.f_blocks * fs.f_frsize / BASES_FREE_PART;
}

/* Clones a large file. NULL, or why that was not possible. */
static const char *base_clone(struct call *call, const struct base *base, int fd)
{
	_cleanup_close_ int clone = -1;
	char name[32];

	(void)snprintf(name, sizeof(name), BASES_CLONE_FORMAT, (unsigned long long)base->status.st_ino);
	clone = layer_create_file(base->layer, name);
	if (clone >= 0 && ioctl(clone, FICLONE, fd) == 0 && base_is_unchanged(base, fd)) {
		base_write_text(call, base, BASE_CLONE, name);
		return NULL;
	}
	if (clone >= 0) /* else it has another name, which was changed before */
		(void)unlinkat(base->layer->dir_fd, name, 0);
	return "it has more than 1 MiB, and the file system of TMPDIR cannot clone it";
}

/* Keeps a small file. NULL, or why that was not possible. */
static const char *base_keep_content(struct call *call, const struct base *base, int fd)
{
	const uint64_t bytes = base_get_record_bytes(base, (uint64_t)base->status.st_size);
	const char *why;

	if (bytes > BASES_CONTENTS_BYTES_MAX || call->sandbox->bases_bytes > BASES_CONTENTS_BYTES_MAX - bytes)
		return "the run had changed 256 MiB of files before";
	if (!base_has_room(base, bytes))
		return "the file system of TMPDIR was full";
	if (!base_take_bytes(call, bytes))
		return "limits.disk had no room for it";
	why = base_write_content(base, fd);
	if (why)
		base_give_back_bytes(call, bytes);
	return why;
}

/* Keeps a large file. NULL, or why that was not possible. */
static const char *base_keep_clone(struct call *call, const struct base *base, int fd)
{
	const uint64_t bytes = (uint64_t)base->status.st_blocks * 512;
	const char *why;

	if (!base_has_room(base, 0))
		return "the file system of TMPDIR was full";
	if (!disk_take_bytes(call, bytes))
		return "limits.disk had no room for it";
	why = base_clone(call, base, fd);
	if (why)
		disk_give_back_bytes(call, bytes);
	return why;
}

/*
 * Opens the content of a file: that of a placeholder is in the directory, and then base->status is of the file there,
 * but for its inode number. A descriptor owned by the caller, or -errno.
 */
static int base_open_content(const struct call *call, struct base *base, int path_fd)
{
	const uint64_t inode = base->status.st_ino;
	struct fills *fills;
	int fd;
	const struct fill_file *file = view_find_placeholder(call->sandbox->view, path_fd, "", &base->status, &fills);

	if (!file)
		return io_open_keeping_atime(AT_FDCWD, io_proc_fd_path(path_fd).path, O_RDONLY | O_NONBLOCK | O_NOCTTY,
					     0);
	fd = fills_open_source(fills, file, FILL_AS_COPIED, &base->status);
	base->status.st_ino = inode;
	return fd;
}

/* Keeps a symbolic link. NULL, or why that was not possible. */
static const char *base_keep_link(struct call *call, struct base *base, int path_fd)
{
	char target[PATH_MAX];
	const ssize_t len = readlinkat(path_fd, "", target, sizeof(target) - 1);

	if (len < 0)
		return "it could not be read";
	target[len] = '\0';
	base->has_attributes = true;
	base_write_text(call, base, BASE_LINK, target);
	return NULL;
}

/* Keeps a file or link. NULL, or why that was not possible. */
static const char *base_keep(struct call *call, struct base *base, int path_fd)
{
	_cleanup_close_ int fd = -1;
	const char *why;

	if (S_ISLNK(base->status.st_mode))
		return base_keep_link(call, base, path_fd);
	if (!S_ISREG(base->status.st_mode))
		return "it was no regular file";
	fd = base_open_content(call, base, path_fd);
	if (fd == -ESTALE)
		return "it was changed outside before the program opened it";
	if (fd < 0)
		return "it could not be read";
	base->has_attributes = copy_hash_attributes(fd, base->xattrs) == 0;
	why = base->status.st_size > BASES_FILE_BYTES_MAX ? base_keep_clone(call, base, fd)
							  : base_keep_content(call, base, fd);
	base->has_attributes &= !why;
	return why;
}

void bases_keep(struct call *call, unsigned i)
{
	const struct place *place = &call->resolved_place[i];
	_cleanup_close_ int path_fd = -1;
	struct base base = {.layer = NULL};
	const char *why;

	if (!place->mount || !place->mount->layer || place->is_magic_link ||
	    changes_has_touched_place(call->sandbox->changes, place))
		return;
	dirs_note(call, place);
	path_fd = base_find(place, &base);
	if (path_fd < 0)
		return;
	why = base_keep(call, &base, path_fd);
	if (why)
		base_write_text(call, &base, BASE_NONE, why);
}
