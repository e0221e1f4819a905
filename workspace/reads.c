#include "workspace/reads.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "syscalls/account/reads.h"
#include "workspace/layer.h"
#include "workspace/records.h"

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
	if (layer->records)
		return workspace_time_is_since_mount(layer, &now->st_ctim);
	return now->st_ino != record->inode || (uint64_t)now->st_size != record->size ||
	       now->st_mtim.tv_sec != record->mtime_s || now->st_mtim.tv_nsec != (long)record->mtime_ns ||
	       now->st_ctim.tv_sec != record->ctime_s || now->st_ctim.tv_nsec != (long)record->ctime_ns;
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

int workspace_reads_visit_stale(const struct workspace_layer *layer, int reads_dir_fd,
				int (*visit)(void *ctx, const char *path, bool is_removed), void *ctx, bool *ret_more)
{
	_cleanup_free_ char *text = NULL;
	struct read_record record;
	char path[PATH_MAX];
	size_t len = 0, at = 0;
	int r = io_read_file(reads_dir_fd, READS_NAME, READS_BYTES_MAX, &text, &len);

	*ret_more = false;
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	while (r == 0 && len - at >= sizeof(record)) {
		memcpy(&record, text + at, sizeof(record));
		at += sizeof(record);
		if (record.path_len >= sizeof(path) || len - at < record.path_len)
			return -EBADMSG;
		memcpy(path, text + at, record.path_len);
		path[record.path_len] = '\0';
		at += record.path_len;
		*ret_more |= record.path_len == 0;
		if (record.path_len > 0)
			r = reads_visit_file(layer, &record, path, visit, ctx);
	}
	return r;
}
