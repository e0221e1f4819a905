/* Headers, and the change from one file of a log to the next. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "audit/log.h"
#include "base/cleanup.h"
#include "base/text.h"

#define ROTATE_RESERVED_BYTES_AFTER_HEADER (64 << 10) /* room for a header's hashes and names, and for the trailer */

int log_append_whole_line(struct audit *audit, const char *line, size_t len)
{
	uint64_t offset = audit->bytes_in_earlier_files + audit->file_length;
	int r = line ? log_append_by_pwrite(audit, line, len) : -ENOMEM;

	if (r < 0)
		return r;
	audit->seq++;
	return chain_add_line(audit, offset, len, true);
}

int log_write_header(struct audit *audit, const char *previous)
{
	const struct line_chain_fields links = {.prev_hash = audit->chain.head_hash};
	_cleanup_free_ char *line = NULL;
	size_t len;

	line = lines_make_file_header(&audit->encoder, audit->common_header_text, audit->key, previous, &links,
				      audit->file_number, audit->seq + 1, &len);
	return log_append_whole_line(audit, line, len);
}

static const char *rotate_get_file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Ends the current file with a line that names the next one. */
static int rotate_end_file(struct audit *audit, const char *next)
{
	const struct line_chain_fields links = {.prev_hash = audit->chain.head_hash};
	_cleanup_free_ char *line = NULL;
	size_t len;

	/* Unused space is cut off. The space for a trailer, which is always there, has room for the line. */
	if (ftruncate(audit->fd, (off_t)audit->file_length) < 0)
		return -errno;
	log_munmap_window(audit);
	line = lines_make_next_file_line(&audit->encoder, rotate_get_file_name(next), &links, audit->seq + 1, &len);
	return log_append_whole_line(audit, line, len);
}

/* Makes fd the current file. The one before stays open for outcomes that are to come. */
static int rotate_switch_file(struct audit *audit, int fd)
{
	struct log_older_file *older;

	(void)pthread_mutex_lock(&audit->chain.lock);
	older = reallocarray(audit->older_file, audit->older_file_count + 1, sizeof(*older));
	if (!older) {
		(void)pthread_mutex_unlock(&audit->chain.lock);
		return -ENOMEM;
	}
	audit->older_file = older;
	audit->older_file[audit->older_file_count++] =
		(struct log_older_file){.fd = audit->fd,
					.bytes_before = audit->bytes_in_earlier_files,
					.bytes_up_to_end = audit->bytes_in_earlier_files + audit->file_length};
	audit->bytes_in_earlier_files += audit->file_length;
	audit->file_length = 0;
	audit->fd = fd;
	audit->file_number++;
	log_close_older_files(audit);
	(void)pthread_mutex_unlock(&audit->chain.lock);
	return 0;
}

/* Begins the next file of the log with its header. Takes *next, the file's path. 0 or -errno. */
static int rotate_begin_file(struct audit *audit, char **next)
{
	_cleanup_free_ char *previous = steal_pointer(&audit->current_file_path);
	int r;

	audit->current_file_path = steal_pointer(next);
	compact_forget_processes(&audit->encoder);
	r = log_write_header(audit, rotate_get_file_name(previous));
	if (r == 0 && audit->ret_file)
		*audit->ret_file = audit->file_number;
	return r;
}

/* Reserves the space of the header, and of the line or trailer that ends the file. 0, also where that is impossible. */
static int rotate_reserve_header(const struct audit *audit, int fd)
{
	const off_t bytes = (off_t)strlen(audit->common_header_text) + ROTATE_RESERVED_BYTES_AFTER_HEADER;

	if (fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, bytes) < 0)
		return errno == EOPNOTSUPP || errno == ENOSYS ? 0 : -errno;
	return 0;
}

int log_rotate(struct audit *audit)
{
	_cleanup_free_ char *next = NULL;
	_cleanup_close_ int fd = -1;
	bool made = false;
	int r;

	if (!audit->rotate_bytes || audit->file_length < audit->rotate_bytes)
		return 0;
	next = text_format("%s.%u", audit->first_file_path, audit->file_number + 1);
	if (!next)
		return -ENOMEM;
	fd = log_open_file(next, &made);
	if (fd < 0) { /* the log goes on in this file */
		audit->rotation_error = fd;
		audit->rotate_bytes = 0;
		return 0;
	}
	/*
	 * Readers would take a file without a header for the end of the log. So its space is reserved first. If that
	 * fails, the log goes on in this file.
	 */
	r = rotate_reserve_header(audit, fd);
	if (r < 0) {
		(void)unlink(next);
		audit->rotation_error = r;
		audit->rotate_bytes *= 2;
		return 0;
	}
	r = chain_seal_all(audit);
	if (r == 0)
		r = rotate_end_file(audit, next);
	if (r == 0)
		r = rotate_switch_file(audit, fd);
	if (r < 0)
		return r;
	(void)steal_fd(&fd);
	return rotate_begin_file(audit, &next);
}
