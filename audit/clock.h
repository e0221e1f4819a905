/* The two clocks of a line from one reading: CLOCK_MONOTONIC, and RFC 3339 text derived from it. */
#ifndef CALLGATE_AUDIT_CLOCK_H
#define CALLGATE_AUDIT_CLOCK_H

#include <stddef.h>
#include <stdint.h>

#define AUDIT_TIME_LEN 30 /* "2026-11-21T01:49:24.123456789Z" */

/* Zero-initialise. The wall clock is asked anew at each new second, so a stepped clock is followed within one. */
struct audit_clock {
	int64_t wall_offset_ns; /* wall clock minus monotonic clock */
	int64_t second;         /* the one `text` is for */
	char text[AUDIT_TIME_LEN];
};

/*
 * Reads the clock; points *ret_time at AUDIT_TIME_LEN bytes (no NUL) valid until the next call. Returns monotonic ns.
 */
uint64_t audit_clock_now(struct audit_clock *clock, const char **ret_time);

#endif
