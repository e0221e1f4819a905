/*
 * The mapped window moves over the file as it grows. Room is allocated and its pages are made writable before a byte is
 * put there, so a full disk is an errno of fallocate(2) or madvise(2), not a SIGBUS in the middle of a record.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "audit/log.h"

#include "base/banned.h"

#define PAGE AUDIT_ROOM_PAGE
#define CHUNK_MAX_BYTES (1u << 20)

/* The kernel answers writing past RLIMIT_FSIZE with SIGXFSZ as well: never get there. */
static bool past_size_limit(uint64_t end)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && end > limit.rlim_cur;
}

static int allocate(int fd, uint64_t start, uint64_t end)
{
	int r;

	if (past_size_limit(end))
		return -EFBIG;
	do
		r = fallocate(fd, 0, (off_t)start, (off_t)(end - start));
	while (r < 0 && errno == EINTR);
	return r < 0 ? -errno : 0;
}

static bool is_full(int error)
{
	return error == -ENOSPC || error == -EDQUOT || error == -EFBIG;
}

/* Allocates a chunk at `start`, a smaller one when the disk is nearly full, but never less than `least` bytes. */
static int allocate_chunk(struct audit *audit, uint64_t start, uint64_t least, uint64_t *ret_end)
{
	uint64_t bytes = audit->chunk_bytes > least ? audit->chunk_bytes : least;
	int r;

	for (;;) {
		bytes = (bytes + PAGE - 1) / PAGE * PAGE;
		r = allocate(audit->fd, start, start + bytes);
		if (r == 0) {
			*ret_end = start + bytes;
			return 0;
		}
		if (!is_full(r) || bytes / 2 < least)
			return r;
		bytes /= 2;
	}
}

void log_unmap(struct audit *audit)
{
	if (audit->window)
		(void)munmap(audit->window, audit->window_end - audit->window_start); /* our own mapping: cannot fail */
	audit->window = NULL;
}

/* Maps [start, end) in place of the present window. 0; -ENOSPC when its pages cannot be had; 1: no mapping here. */
static int map_window(struct audit *audit, uint64_t start, uint64_t end)
{
	char *window = mmap(NULL, end - start, PROT_READ | PROT_WRITE, MAP_SHARED, audit->fd, (off_t)start);

	if (window == MAP_FAILED)
		return 1;
	/* EINVAL: before Linux 5.14. Anything else says that storing there would have been a signal. */
	if (madvise(window, end - start, MADV_POPULATE_WRITE) < 0 && errno != EINVAL) {
		int error = errno;

		(void)munmap(window, end - start);
		return error == ENOMEM ? -ENOMEM : -ENOSPC;
	}
	log_unmap(audit);
	audit->window = window;
	audit->window_start = start;
	audit->window_end = end;
	return 0;
}

/* Makes room for len bytes and a trailer in the window, or turns to pwrite(2). */
static int move_window(struct audit *audit, size_t len)
{
	uint64_t start = audit->shared->end / PAGE * PAGE, end = 0;
	int r;

	r = allocate_chunk(audit, start, audit->shared->end - start + len + LOG_TRAILER_BYTES, &end);
	if (r == -EOPNOTSUPP || r == -ENOSYS || r == -EINVAL) {
		audit->direct = true;
		return 0;
	}
	if (r < 0)
		return r;
	r = map_window(audit, start, end);
	if (r > 0)
		audit->direct = true;
	else if (r == 0 && audit->chunk_bytes < CHUNK_MAX_BYTES)
		audit->chunk_bytes *= 4;
	return r < 0 ? r : 0;
}

int log_write(int fd, const char *line, size_t len, uint64_t end)
{
	size_t done = 0;

	if (past_size_limit(end + len))
		return -EFBIG;
	while (done < len) {
		ssize_t n = pwrite(fd, line + done, len - done, (off_t)(end + done));

		if (n > 0) {
			done += (size_t)n;
		} else if (n == 0 || errno != EINTR) {
			int error = n == 0 ? EIO : errno;

			(void)!ftruncate(fd, (off_t)end); /* best effort: a torn tail is cut by readers as well */
			return -error;
		}
	}
	return 0;
}

int log_append_direct(struct audit *audit, const char *line, size_t len)
{
	uint64_t end = audit->shared->end;
	int r = log_write(audit->fd, line, len, end);

	if (r == 0)
		__atomic_store_n(&audit->shared->end, end + len, __ATOMIC_RELEASE);
	return r;
}

int log_append(struct audit *audit, const char *line, size_t len)
{
	uint64_t end = audit->shared->end;

	if (!audit->direct && (!audit->window || end + len + LOG_TRAILER_BYTES > audit->window_end)) {
		int r = move_window(audit, len);

		if (r < 0)
			return r;
	}
	if (audit->direct)
		return log_append_direct(audit, line, len);
	memcpy(audit->window + (end - audit->window_start), line, len);
	/* The line counts once it is whole: a writer killed in the copy leaves bytes past the end. */
	__atomic_store_n(&audit->shared->end, end + len, __ATOMIC_RELEASE);
	return 0;
}

bool log_in_window(const struct audit *audit, uint64_t offset, size_t len)
{
	/* The thread first: to any other, the window may move at any moment. */
	return pthread_equal(pthread_self(), audit->writer) && audit->window && offset >= audit->window_start &&
	       offset + len <= audit->window_end;
}
