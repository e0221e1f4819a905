#include "confine/descriptors.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The kernel allocates this many slots of the descriptor table before threads share it. */
#define DESCRIPTOR_TABLE_SLOTS_IN_ADVANCE 1024

static int descriptors_compare(const void *left, const void *right)
{
	return *(const int *)left - *(const int *)right;
}

void descriptors_close_all_but(int *keep, size_t count)
{
	unsigned from = 3;

	qsort(keep, count, sizeof(*keep), descriptors_compare);
	for (size_t i = 0; i < count; i++) {
		if (keep[i] < (int)from)
			continue;
		if ((unsigned)keep[i] > from)
			(void)syscall(SYS_close_range, from, (unsigned)keep[i] - 1, 0U);
		from = (unsigned)keep[i] + 1;
	}
	(void)syscall(SYS_close_range, from, ~0U, 0U);
}

void descriptors_detach_stdio(bool with_stderr)
{
	int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null_fd < 0)
		return; /* without /dev/null these descriptors stay shared with the keeper, and unused */
	(void)dup2(null_fd, 0);
	(void)dup2(null_fd, 1);
	if (!with_stderr)
		(void)dup2(null_fd, 2);
	if (null_fd > 2)
		(void)close(null_fd);
}

void descriptors_enlarge_table(void)
{
	int fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, DESCRIPTOR_TABLE_SLOTS_IN_ADVANCE - 1);

	if (fd >= 0)
		(void)close(fd); /* closing the descriptor does not shrink the table of descriptors */
}
