/* Units of time, and comparing times of files. */
#ifndef CALLGATE_BASE_TIMES_H
#define CALLGATE_BASE_TIMES_H

#include <stdint.h>
#include <time.h>

#define NS_PER_US UINT64_C(1000)
#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_S UINT64_C(1000000000)

/* Negative when `left` is earlier than `right`, positive when it is later, 0 when they are equal. */
static inline int times_compare(const struct timespec *left, const struct timespec *right)
{
	if (left->tv_sec != right->tv_sec)
		return left->tv_sec < right->tv_sec ? -1 : 1;
	return (left->tv_nsec > right->tv_nsec) - (left->tv_nsec < right->tv_nsec);
}

#endif
