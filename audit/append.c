/*
 * Appends lines through a mapping of the file's last part, the window. Blocks are allocated and pages made writable
 * before the first store, so that a full disk is an errno of fallocate(2) or madvise(2), not SIGBUS within a record.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "audit/log.h"

#define PAGE AUDIT_ROOM_PAGE
#define CHUNK_MAX_BYTES (1u << 20)

/* Whether `end` lies past RLIMIT_FSIZE. Checked before each write, because a write past that limit raises SIGXFSZ. */
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

/* Allocates a chunk at `start`. On a nearly full disk it is smaller than usual, but has at least `least` bytes. */
static int log_allocate_chunk(struct audit *audit, uint64_t start, uint64_t least, uint64_t *ret_end)
{
	uint64_t bytes = audit->chunk_bytes > least ? audit->chunk_bytes : least;
	int r;

	for (;;) {
		bytes = (bytes + PAGE - 1) / PAGE * PAGE;
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

/* Replaces the window by [start, end). 0; 1 when the file cannot be mapped; -ENOSPC or -ENOMEM. */
static int log_map_window(struct audit *audit, uint64_t start, uint64_t end)
{
	char *window = mmap(NULL, end - start, PROT_READ | PROT_WRITE, MAP_SHARED, audit->fd, (off_t)start);

	if (window == MAP_FAILED)
		return 1;
	/* EINVAL: Linux before 5.14. After any other error, a store would raise SIGBUS. */
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

/* Moves the window so that it has space for len bytes and a trailer, or changes to pwrite(2). 0 or -errno. */
static int log_move_window(struct audit *audit, size_t len)
{
	uint64_t start = audit->shared->end / PAGE * PAGE, end = 0;
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
	else if (r == 0 && audit->chunk_bytes < CHUNK_MAX_BYTES)
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

			(void)!ftruncate(fd, (off_t)end); /* best effort: readers ignore an incomplete last line */
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
	/* Released after the copy: a writer killed during it leaves bytes after the end, which readers ignore. */
	__atomic_store_n(&audit->shared->end, end + len, __ATOMIC_RELEASE);
	return 0;
}

bool log_is_in_window(const struct audit *audit, uint64_t offset, size_t len)
{
	/* The thread is checked first, because the window may move at any time in all threads but the writer's. */
	return pthread_equal(pthread_self(), audit->writer) && audit->window && offset >= audit->window_start &&
	       offset + len <= audit->window_end;
}
