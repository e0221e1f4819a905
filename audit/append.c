/*
 * Appends lines through a mapping of the last part of the file, the window. Blocks are allocated and pages made
 * writable before the first store. So a full disk is an errno of fallocate(2) or madvise(2), not SIGBUS within a
 * record.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "audit/log.h"

#define PAGE_BYTES AUDIT_PAGE_BYTES
#define LOG_MMAP_WINDOW_BYTES_MAX (1u << 20)

/* True when `end` is past RLIMIT_FSIZE. Checked before each write: writing past that limit raises SIGXFSZ. */
static bool log_exceeds_rlimit_fsize(uint64_t end)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && end > limit.rlim_cur;
}

/* Allocates blocks of the log for a range of bytes. 0 or -errno. */
static int log_allocate_range(int fd, uint64_t start, uint64_t end)
{
	if (log_exceeds_rlimit_fsize(end))
		return -EFBIG;
	return TEMP_FAILURE_RETRY(fallocate(fd, 0, (off_t)start, (off_t)(end - start))) < 0 ? -errno : 0;
}

/* Allocates disk blocks from `start` on: usually for many lines, on a nearly full disk for `least` bytes only. */
static int log_allocate_chunk(struct audit *audit, uint64_t start, uint64_t least, uint64_t *ret_end)
{
	uint64_t bytes = audit->next_mmap_window_bytes > least ? audit->next_mmap_window_bytes : least;
	int r;

	for (;;) {
		bytes = (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
		r = log_allocate_range(audit->fd, start, start + bytes);
		if (r == 0) {
			*ret_end = start + bytes;
			return 0;
		}
		if ((r != -ENOSPC && r != -EDQUOT && r != -EFBIG) || bytes / 2 < least)
			return r;
		bytes /= 2;
	}
}

/* Unmaps the part of the log in which lines were appended. */
void log_munmap_window(struct audit *audit)
{
	if (audit->mmap_window)
		(void)munmap(audit->mmap_window, audit->mmap_window_end_offset - audit->mmap_window_start_offset);
	audit->mmap_window = NULL;
}

/* Replaces the window by a mapping of [start, end). 0; 1 when the file cannot be mapped; -ENOSPC or -ENOMEM. */
static int log_mmap_window(struct audit *audit, uint64_t start, uint64_t end)
{
	char *window = mmap(NULL, end - start, PROT_READ | PROT_WRITE, MAP_SHARED, audit->fd, (off_t)start);

	if (window == MAP_FAILED)
		return 1;
	/* EINVAL comes from Linux before 5.14. After any other error, a store into the window would raise SIGBUS. */
	if (madvise(window, end - start, MADV_POPULATE_WRITE) < 0 && errno != EINVAL) {
		int error = errno;

		(void)munmap(window, end - start);
		return error == ENOMEM ? -ENOMEM : -ENOSPC;
	}
	log_munmap_window(audit);
	audit->mmap_window = window;
	audit->mmap_window_start_offset = start;
	audit->mmap_window_end_offset = end;
	return 0;
}

/* Moves the window so that len bytes and a trailer fit, or changes to pwrite(2) for good. 0 or -errno. */
static int log_move_mmap_window(struct audit *audit, size_t len)
{
	uint64_t start = audit->file_length / PAGE_BYTES * PAGE_BYTES, end = 0;
	int r;

	r = log_allocate_chunk(audit, start, audit->file_length - start + len + LOG_TRAILER_RESERVED_BYTES, &end);
	if (r == -EOPNOTSUPP || r == -ENOSYS || r == -EINVAL) {
		audit->writes_by_pwrite = true;
		return 0;
	}
	if (r < 0)
		return r;
	r = log_mmap_window(audit, start, end);
	if (r > 0)
		audit->writes_by_pwrite = true;
	else if (r == 0 && audit->next_mmap_window_bytes < LOG_MMAP_WINDOW_BYTES_MAX)
		audit->next_mmap_window_bytes *= 4;
	return r < 0 ? r : 0;
}

int log_write_line(int fd, const char *line, size_t len, uint64_t end)
{
	size_t done = 0;

	if (log_exceeds_rlimit_fsize(end + len))
		return -EFBIG;
	while (done < len) {
		ssize_t n = pwrite(fd, line + done, len - done, (off_t)(end + done));

		if (n > 0) {
			done += (size_t)n;
		} else if (n == 0 || errno != EINTR) {
			int error = n == 0 ? EIO : errno;

			(void)!ftruncate(fd, (off_t)end); /* may fail: readers ignore an incomplete last line */
			return -error;
		}
	}
	return 0;
}

int log_append_by_pwrite(struct audit *audit, const char *line, size_t len)
{
	uint64_t end = audit->file_length;
	int r = log_write_line(audit->fd, line, len, end);

	if (r == 0)
		audit->file_length = end + len;
	return r;
}

int log_append_line(struct audit *audit, const char *line, size_t len)
{
	uint64_t end = audit->file_length;

	if (!audit->writes_by_pwrite &&
	    (!audit->mmap_window || end + len + LOG_TRAILER_RESERVED_BYTES > audit->mmap_window_end_offset)) {
		int r = log_move_mmap_window(audit, len);

		if (r < 0)
			return r;
	}
	if (audit->writes_by_pwrite)
		return log_append_by_pwrite(audit, line, len);
	memcpy(audit->mmap_window + (end - audit->mmap_window_start_offset), line, len);
	audit->file_length = end + len;
	return 0;
}

char *log_find_in_window(const struct audit *audit, uint64_t offset, size_t len)
{
	/* The thread is checked first: only for the writer does the window not move meanwhile. */
	if (!pthread_equal(pthread_self(), audit->writer) || !audit->mmap_window ||
	    offset < audit->bytes_in_earlier_files + audit->mmap_window_start_offset ||
	    offset + len > audit->bytes_in_earlier_files + audit->mmap_window_end_offset)
		return NULL;
	return audit->mmap_window + (offset - audit->bytes_in_earlier_files - audit->mmap_window_start_offset);
}

/* Finds the file of the log that has the byte at `offset`, and its place in that file. -1: the file is closed. */
static int log_find_file_at_offset(const struct audit *audit, uint64_t offset, off_t *ret_place)
{
	*ret_place = (off_t)(offset - audit->bytes_in_earlier_files);
	if (offset >= audit->bytes_in_earlier_files)
		return audit->fd;
	for (size_t i = 0; i < audit->older_file_count; i++) {
		const struct log_older_file *older = &audit->older_file[i];

		*ret_place = (off_t)(offset - older->bytes_before);
		if (offset >= older->bytes_before && offset < older->bytes_up_to_end)
			return older->fd;
	}
	return -1;
}

int log_read_at(const struct audit *audit, char *bytes, size_t len, uint64_t offset)
{
	off_t place;
	int fd = log_find_file_at_offset(audit, offset, &place);
	ssize_t n = TEMP_FAILURE_RETRY(pread(fd, bytes, len, place));

	return n == (ssize_t)len ? 0 : n < 0 ? -errno : -EIO;
}

int log_write_at(const struct audit *audit, const char *bytes, size_t len, uint64_t offset)
{
	char *mapped = log_find_in_window(audit, offset, len);
	off_t place;
	ssize_t n;
	int fd;

	if (mapped) {
		memcpy(mapped, bytes, len);
		return 0;
	}
	fd = log_find_file_at_offset(audit, offset, &place);
	n = TEMP_FAILURE_RETRY(pwrite(fd, bytes, len, place));
	return n == (ssize_t)len ? 0 : n < 0 ? -errno : -EIO;
}

/* Whether a record in an older file of the log still lacks its outcome, which will have to be written there. */
static bool log_older_file_is_needed(const struct audit *audit, const struct log_older_file *older)
{
	const struct chain *chain = &audit->chain;

	for (size_t i = 0; i < chain->late_count; i++)
		if (chain->late[i].offset >= older->bytes_before && chain->late[i].offset < older->bytes_up_to_end)
			return true;
	return false;
}

void log_close_older_files(struct audit *audit)
{
	size_t kept = 0;

	for (size_t i = 0; i < audit->older_file_count; i++) {
		struct log_older_file older = audit->older_file[i];

		if (log_older_file_is_needed(audit, &older))
			audit->older_file[kept++] = older;
		else
			(void)close(older.fd);
	}
	audit->older_file_count = kept;
}

void log_remember_error(struct audit *audit, int error)
{
	if (error < 0 && audit->first_error == 0)
		audit->first_error = error;
}
