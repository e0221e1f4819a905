/* Makes the monotonic time and the RFC 3339 time of a log line by one clock_gettime(2). */
#ifndef CALLGATE_AUDIT_CLOCK_H
#define CALLGATE_AUDIT_CLOCK_H

#include <stdint.h>

#define AUDIT_TIMESTAMP_LEN 30 /* "2026-11-21T01:49:24.123456789Z" */

/*
 * A new clock has text_second = -1. CLOCK_REALTIME is read once a second, so a change of the machine's time shows
 * within a second.
 */
struct audit_clock {
	int64_t wall_offset_ns; /* wall clock minus monotonic clock */
	int64_t text_second;         /* Unix time that `text` shows, in whole seconds */
	char text[AUDIT_TIMESTAMP_LEN];
};

/* Returns CLOCK_MONOTONIC in ns. *ret_time: AUDIT_TIMESTAMP_LEN bytes without NUL, valid until the next call. */
uint64_t audit_clock_read(struct audit_clock *clock, const char **ret_time);

#endif
