#include "base/content.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CONTENT_PIECE_BYTES 65536u

/* Reads `len` bytes, unless the file ends before. The number of bytes, or -errno. */
static ssize_t content_read(int fd, char *piece, size_t len, off_t offset)
{
	size_t done = 0;
	ssize_t got;

	while (done < len) {
		got = pread(fd, piece + done, len - done, offset + (off_t)done);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			break;
		done += (size_t)got;
	}
	return (ssize_t)done;
}

/* The next offset at which a file has data; `size`: it has none. A file system without holes has data everywhere. */
static off_t content_find_data(int fd, off_t offset, off_t size)
{
	const off_t data = lseek(fd, offset, SEEK_DATA);

	if (data < 0)
		return errno == ENXIO ? size : offset;
	return data < size ? data : size;
}

int content_is_equal(int left_fd, int right_fd, uint64_t size)
{
	char left[CONTENT_PIECE_BYTES], right[CONTENT_PIECE_BYTES];
	const off_t end = (off_t)size;
	off_t offset = 0;

	while (offset < end) {
		const off_t left_data = content_find_data(left_fd, offset, end);
		const off_t right_data = content_find_data(right_fd, offset, end);
		ssize_t left_len, right_len;

		offset = left_data < right_data ? left_data : right_data;
		if (offset >= end)
			break;
		left_len = content_read(left_fd, left, sizeof(left), offset);
		right_len = left_len < 0 ? left_len : content_read(right_fd, right, sizeof(right), offset);
		if (right_len < 0)
			return (int)right_len;
		if (left_len != right_len || memcmp(left, right, (size_t)left_len) != 0)
			return 0;
		if (left_len == 0) /* both became shorter meanwhile */
			break;
		offset += left_len;
	}
	return 1;
}

int content_is_text(int fd, uint64_t max_bytes)
{
	char piece[CONTENT_PIECE_BYTES];
	off_t offset = 0;
	ssize_t len;

	while ((len = content_read(fd, piece, sizeof(piece), offset)) > 0) {
		offset += len;
		if ((uint64_t)offset > max_bytes || memchr(piece, '\0', (size_t)len))
			return 0;
	}
	return len < 0 ? (int)len : 1;
}
