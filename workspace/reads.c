#include "workspace/reads.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/times.h"
#include "syscalls/account/workspace/reads.h"
#include "workspace/layer.h"
#include "workspace/records.h"

#define READS_NEW_NAME "reads.new"
#define READS_BYTES_MAX ((size_t)READS_FILES_MAX * (sizeof(struct read_record) + PATH_MAX)) /* most of the file */

/* Whether the layer hides what the directory has at a path: the program has changed or removed it. */
static bool reads_is_hidden(const struct workspace_layer *layer, const char *path)
{
	_cleanup_close_ int fd = workspace_open_entry(layer->upper_fd, path);
	char dir[PATH_MAX];
	char *slash;

	if (fd != -ENOENT)
		return true;
	(void)snprintf(dir, sizeof(dir), "%s", path);
	while ((slash = strrchr(dir, '/'))) {
		*slash = '\0';
		cleanup_close(&fd);
		fd = workspace_open_entry(layer->upper_fd, dir);
		if (fd >= 0 && workspace_is_opaque(layer, fd) != 0)
			return true;
	}
	return false;
}

/* Whether a file was changed since it was read. */
static bool reads_is_changed(const struct workspace_layer *layer, const struct read_record *record,
			     const struct stat *now)
{
	const bool has_ctime = now->st_ctim.tv_sec == record->ctime_s && now->st_ctim.tv_nsec == (long)record->ctime_ns;

	if (layer->records) /* the record has a time if callgate ws apply has set it (workspace_reads_refresh()) */
		return workspace_time_is_since_mount(layer, &now->st_ctim) && !has_ctime;
	return now->st_ino != record->inode || (uint64_t)now->st_size != record->size ||
	       now->st_mtim.tv_sec != record->mtime_s || now->st_mtim.tv_nsec != (long)record->mtime_ns || !has_ctime;
}

/* Visits a file if it is stale. What cannot be looked at is not told. */
static int reads_visit_file(const struct workspace_layer *layer, const struct read_record *record, const char *path,
			    int (*visit)(void *ctx, const char *path, bool is_removed), void *ctx)
{
	_cleanup_close_ int fd = -1;
	struct stat now;

	if (layer->records && !workspace_records_find(layer->records, path))
		return 0; /* the program has made it */
	fd = workspace_open_entry(layer->base_fd, path);
	if (fd < 0 && fd != -ENOENT && fd != -ENOTDIR)
		return 0;
	if (fd >= 0 && (fstat(fd, &now) < 0 || !reads_is_changed(layer, record, &now)))
		return 0;
	return reads_is_hidden(layer, path) ? 0 : visit(ctx, path, fd < 0);
}

/* Reads the notes. 0, also when there are none; or -errno. */
static int reads_read(int reads_dir_fd, char **ret_text, size_t *ret_len)
{
	const int r = io_read_file(reads_dir_fd, READS_NAME, READS_BYTES_MAX, ret_text, ret_len);

	if (r == -ENOENT)
		*ret_len = 0;
	return r == -ENOENT ? 0 : r;
}

/* Reads the note that begins at *at, and goes on to the next. 1; 0: there is none; or -EBADMSG. */
static int reads_next(const char *text, size_t len, size_t *at, struct read_record *ret_record, char path[PATH_MAX])
{
	if (len - *at < sizeof(*ret_record))
		return 0;
	memcpy(ret_record, text + *at, sizeof(*ret_record));
	*at += sizeof(*ret_record);
	if (ret_record->path_len >= PATH_MAX || len - *at < ret_record->path_len)
		return -EBADMSG;
	memcpy(path, text + *at, ret_record->path_len);
	path[ret_record->path_len] = '\0';
	*at += ret_record->path_len;
	return 1;
}

int workspace_reads_visit_stale(const struct workspace_layer *layer, int reads_dir_fd,
				int (*visit)(void *ctx, const char *path, bool is_removed), void *ctx, bool *ret_more)
{
	_cleanup_free_ char *text = NULL;
	struct read_record record;
	char path[PATH_MAX];
	size_t len = 0, at = 0;
	int r = reads_read(reads_dir_fd, &text, &len), next;

	*ret_more = false;
	while (r == 0 && (next = reads_next(text, len, &at, &record, path)) != 0) {
		if (next < 0)
			return next;
		*ret_more |= record.path_len == 0;
		if (record.path_len > 0)
			r = reads_visit_file(layer, &record, path, visit, ctx);
	}
	return r;
}

/* ---- an apply ---- */

/* Reads the status of what the directory has at a path. False: it is not there, or cannot be looked at. */
static bool reads_stat(const struct workspace_layer *layer, const char *path, struct stat *ret_status)
{
	_cleanup_close_ int fd = workspace_open_entry(layer->base_fd, path);

	return fd >= 0 && fstat(fd, ret_status) == 0;
}

int workspace_reads_keep(const struct workspace_layer *layer, struct workspace_reads *ret_reads)
{
	struct read_record record;
	char path[PATH_MAX];
	size_t at = 0, room = 0;
	int r = reads_read(layer->dir_fd, &ret_reads->text, &ret_reads->len), next;

	while (r == 0 && (next = reads_next(ret_reads->text, ret_reads->len, &at, &record, path)) != 0) {
		const size_t begin = at - record.path_len - sizeof(record);
		struct stat st;

		if (next < 0)
			return next;
		if (record.path_len == 0 || !reads_stat(layer, path, &st) || reads_is_changed(layer, &record, &st))
			continue;
		if (!array_reserve(&ret_reads->file, ret_reads->count, &room))
			return -ENOMEM;
		ret_reads->file[ret_reads->count++] =
			(struct workspace_read_file){begin,     st.st_ino,  st.st_nlink, st.st_mode, st.st_uid,
						     st.st_gid, st.st_size, st.st_mtim,  st.st_ctim};
	}
	return r;
}

/*
 * True for a file of which only the change time is another one, as when another of its names was removed, replaced or
 * made.
 */
static bool reads_has_other_ctime(const struct workspace_read_file *file, const struct stat *now)
{
	return times_compare(&now->st_ctim, &file->ctime) != 0 && (file->nlink > 1 || now->st_nlink > 1) &&
	       now->st_ino == file->inode && now->st_size == file->size && now->st_mode == file->mode &&
	       now->st_uid == file->uid && now->st_gid == file->gid && times_compare(&now->st_mtim, &file->mtime) == 0;
}

/* Replaces the notes. 0 or -errno; then they stay as they are. */
static int reads_write(int dir_fd, const struct workspace_reads *reads)
{
	_cleanup_close_ int fd =
		openat(dir_fd, READS_NEW_NAME, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	int r = fd < 0 ? -errno : io_write_all(fd, reads->text, reads->len);

	if (r == 0 && renameat(dir_fd, READS_NEW_NAME, dir_fd, READS_NAME) < 0)
		r = -errno;
	if (r < 0)
		(void)unlinkat(dir_fd, READS_NEW_NAME, 0);
	return r;
}

int workspace_reads_refresh(const struct workspace_layer *layer, struct workspace_reads *reads)
{
	bool has_changed = false;

	for (size_t i = 0; i < reads->count; i++) {
		struct read_record record;
		size_t at = reads->file[i].at;
		char path[PATH_MAX];
		struct stat now;

		if (reads_next(reads->text, reads->len, &at, &record, path) <= 0 || !reads_stat(layer, path, &now) ||
		    !reads_has_other_ctime(&reads->file[i], &now))
			continue;
		record.ctime_s = now.st_ctim.tv_sec;
		record.ctime_ns = (uint32_t)now.st_ctim.tv_nsec;
		memcpy(reads->text + reads->file[i].at, &record, sizeof(record));
		has_changed = true;
	}
	return has_changed ? reads_write(layer->dir_fd, reads) : 0;
}

void workspace_reads_release(struct workspace_reads *reads)
{
	free(reads->text);
	free(reads->file);
	*reads = (struct workspace_reads){.text = NULL};
}
