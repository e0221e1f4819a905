/* Compares the contents of regular files that a hostile program may have written, in small buffers. */
#ifndef CALLGATE_BASE_CONTENT_H
#define CALLGATE_BASE_CONTENT_H

#include <stdint.h>

/*
 * Whether two files of `size` bytes are equal. Where both have a hole, nothing is read: it can be terabytes large. 1,
 * 0, or -errno.
 */
int content_is_equal(int left_fd, int right_fd, uint64_t size);

/* Whether a file is text: it has at most max_bytes, and no byte 0. 1, 0, or -errno. */
int content_is_text(int fd, uint64_t max_bytes);

#endif
