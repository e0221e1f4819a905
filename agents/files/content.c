/* The requests read and write: the contents of files. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <zlib.h>

#include "agents/files/files.h"
#include "base/cleanup.h"
#include "base/io.h"

#define CONTENT_GZIP_WINDOW_BITS 31 /* windowBits of inflateInit2(): 15 for the largest window, 16 for a gzip header */

static char chunk[FILES_CHUNK_BYTES];

int files_read(struct files_job *job)
{
	_cleanup_close_ int fd = open(job->path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;
	uint64_t copied;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0)
		return job_fail_with_path(job, errno, job->path);
	if (S_ISDIR(st.st_mode))
		return job_fail(job, EISDIR, "path '%s' is a directory", job->path);
	if (!S_ISREG(st.st_mode))
		return job_fail(job, EINVAL, "path '%s' is no regular file", job->path);
	r = io_copy_bytes(fd, STDOUT_FILENO, UINT64_MAX, &copied);
	return r < 0 ? job_fail_with_path(job, -r, job->path) : 0;
}

/* ---- write ---- */

static int content_write_input(int fd)
{
	ssize_t got;
	int r = 0;

	while (r == 0 && (got = files_read_input(chunk, sizeof(chunk))) != 0)
		r = got < 0 ? (int)got : io_write_all(fd, chunk, (size_t)got);
	return r;
}

/*
 * Decompresses the bytes at stream->next_in, and writes the result to fd. 0: more compressed content is to come; 1: it
 * has ended; or -errno: -EBADMSG: not valid gzip.
 */
static int content_inflate(z_stream *stream, int fd)
{
	static char plain[FILES_CHUNK_BYTES];
	int r, state;

	do {
		stream->next_out = (Bytef *)plain;
		stream->avail_out = sizeof(plain);
		state = inflate(stream, Z_NO_FLUSH);
		if (state != Z_OK && state != Z_STREAM_END && state != Z_BUF_ERROR)
			return state == Z_MEM_ERROR ? -ENOMEM : -EBADMSG;
		r = io_write_all(fd, plain, sizeof(plain) - stream->avail_out);
		if (r < 0)
			return r;
	} while (state != Z_STREAM_END && stream->avail_out == 0);
	return state == Z_STREAM_END;
}

/*
 * Writes stdin, which is gzip, decompressed to the file. 0 or -errno; -EBADMSG: the compressed content is incomplete.
 */
static int content_write_gunzipped_input(int fd)
{
	z_stream stream = {0};
	ssize_t got;
	int r = 0;

	if (inflateInit2(&stream, CONTENT_GZIP_WINDOW_BITS) != Z_OK)
		return -ENOMEM;
	while (r >= 0 && (got = files_read_input(chunk, sizeof(chunk))) != 0) {
		if (got < 0) {
			r = (int)got;
		} else if (r == 0) { /* bytes after the end of the compressed content are ignored */
			stream.next_in = (Bytef *)chunk;
			stream.avail_in = (uInt)got;
			r = content_inflate(&stream, fd);
		}
	}
	(void)inflateEnd(&stream);
	return r == 1 ? 0 : r == 0 ? -EBADMSG : r;
}

/*
 * Sets a file's metadata, which are its extended attributes FILES_METADATA_PREFIX…, to exactly `wanted`. 0 or -errno.
 */
static int content_set_metadata(const char *path, const json_t *wanted)
{
	json_t *found = entry_read_metadata(path);
	const char *name, *text;
	const json_t *value;
	int r = 0;

	json_object_foreach(found, name, value) {
		_cleanup_buf_ struct buf full = {0};

		buf_printf(&full, FILES_METADATA_PREFIX "%s", name);
		if (full.failed || (!json_object_get(wanted, name) && removexattr(path, full.data) < 0))
			r = full.failed ? -ENOMEM : -errno;
	}
	json_decref(found);
	json_object_foreach((json_t *)(uintptr_t)wanted, name, value) {
		_cleanup_buf_ struct buf full = {0};

		text = json_string_value(value);
		buf_printf(&full, FILES_METADATA_PREFIX "%s", name);
		if (full.failed || (text && setxattr(path, full.data, text, strlen(text), 0) < 0))
			r = full.failed ? -ENOMEM : -errno;
	}
	return r;
}

int files_write(struct files_job *job)
{
	const json_t *metadata = json_object_get(job->request, "metadata");
	_cleanup_close_ int fd = -1;
	int r;

	if (entry_is_directory(job->path))
		return job_fail(job, EISDIR, "path is a directory: %s", job->path);
	r = change_make_parent_dirs(job->path);
	if (r < 0)
		return job_fail_with_path(job, -r, job->path);
	fd = open(job->path, O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0666);
	if (fd < 0)
		return job_fail_with_path(job, errno, job->path);
	r = json_is_true(json_object_get(job->request, "gzip")) ? content_write_gunzipped_input(fd)
								: content_write_input(fd);
	if (r == -EBADMSG)
		return job_fail(job, EINVAL, "the content is not complete in the format of gzip");
	if (r == 0)
		r = content_set_metadata(job->path, metadata);
	if (r < 0)
		return job_fail_with_path(job, -r, job->path);
	return job_set_answer(job, json_pack("{s:o, s:o, s:s, s:o*}", "name",
					     files_make_json_text(entry_get_name(job->path)), "path",
					     files_make_json_text(job->path), "type", "file", "metadata",
					     json_object_size(metadata) > 0 ? entry_read_metadata(job->path) : NULL));
}
