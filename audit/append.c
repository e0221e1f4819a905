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
#define WINDOW_MAX_BYTES (1u << 20)

/* True when `end` is past RLIMIT_FSIZE. Checked before each write: writing past that limit raises SIGXFSZ. */
static bool log_exceeds_file_limit(uint64_t end)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && end > limit.rlim_cur;
}

static int log_allocate_range(int fd, uint64_t start, uint64_t end)
{
	if (log_exceeds_file_limit(end))
		return -EFBIG;
	return TEMP_FAILURE_RETRY(fallocate(fd, 0, (off_t)start, (off_t)(end - start))) < 0 ? -errno : 0;
}

/* Allocates disk blocks from `start` on: at least `least` bytes, which is all on a nearly full disk. */
static int log_allocate_chunk(struct audit *audit, uint64_t start, uint64_t least, uint64_t *ret_end)
{
	uint64_t bytes = audit->chunk_bytes > least ? audit->chunk_bytes : least;
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

void log_unmap_window(struct audit *audit)
{
	if (audit->window)
		(void)munmap(audit->window, audit->window_end - audit->window_start);
	audit->window = NULL;
}

/* Replaces the window by a mapping of [start, end). 0; 1 when the file cannot be mapped; -ENOSPC or -ENOMEM. */
static int log_map_window(struct audit *audit, uint64_t start, uint64_t end)
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
	log_unmap_window(audit);
	audit->window = window;
	audit->window_start = start;
	audit->window_end = end;
	return 0;
}

/* Moves the window so that len bytes and a trailer fit, or changes to pwrite(2) for good. 0 or -errno. */
static int log_move_window(struct audit *audit, size_t len)
{
	uint64_t start = audit->shared->end / PAGE_BYTES * PAGE_BYTES, end = 0;
	int r;

	r = log_allocate_chunk(audit, start, audit->shared->end - start + len + LOG_TRAILER_BYTES, &end);
	if (r == -EOPNOTSUPP || r == -ENOSYS || r == -EINVAL) {
		audit->direct = true;
		return 0;
	}
	if (r < 0)
		return r;
	r = log_map_window(audit, start, end);
	if (r > 0)
		audit->direct = true;
	else if (r == 0 && audit->chunk_bytes < WINDOW_MAX_BYTES)
		audit->chunk_bytes *= 4;
	return r < 0 ? r : 0;
}

int log_write_line(int fd, const char *line, size_t len, uint64_t end)
{
	size_t done = 0;

	if (log_exceeds_file_limit(end + len))
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
	uint64_t end = audit->shared->end;
	int r = log_write_line(audit->fd, line, len, end);

	if (r == 0)
		__atomic_store_n(&audit->shared->end, end + len, __ATOMIC_RELEASE);
	return r;
}

int log_append_line(struct audit *audit, const char *line, size_t len)
{
	uint64_t end = audit->shared->end;

	if (!audit->direct && (!audit->window || end + len + LOG_TRAILER_BYTES > audit->window_end)) {
		int r = log_move_window(audit, len);

		if (r < 0)
			return r;
	}
	if (audit->direct)
		return log_append_by_pwrite(audit, line, len);
	memcpy(audit->window + (end - audit->window_start), line, len);
	/* The end moves after the copy. When the writer is killed before, readers ignore the bytes past the end. */
	__atomic_store_n(&audit->shared->end, end + len, __ATOMIC_RELEASE);
	return 0;
}

bool log_is_in_window(const struct audit *audit, uint64_t offset, size_t len)
{
	/* The order matters: the window may move at any time, unless this thread is the writer. */
	return pthread_equal(pthread_self(), audit->writer) && audit->window && offset >= audit->window_start &&
	       offset + len <= audit->window_end;
}
