/* The times of records: RFC 3339 in UTC with nanoseconds, such as 2026-11-21T02:28:18.308036806Z. */
#ifndef CALLGATE_CLI_AUDIT_TIME_H
#define CALLGATE_CLI_AUDIT_TIME_H

#include <stddef.h>
#include <stdint.h>

/* Returns a time in nanoseconds since the epoch; 0: the text is not a time as the log's writer writes it. */
uint64_t audit_parse_time(const char *text, size_t len);

#endif
