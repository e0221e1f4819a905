/* Reads one log or several, merged by time, at the speed of audit/scan.h and in constant memory. */
#ifndef CALLGATE_CLI_AUDIT_LOGS_H
#define CALLGATE_CLI_AUDIT_LOGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit/read.h"
#include "audit/scan.h"

#define AUDIT_RUN_ID_SHOWN_MAX 8 /* characters of a run's id that are shown with each record */

/* One of the logs that are read. */
struct audit_log {
	const char *path; /* the path as the user gave it, also for the files in which the log continues */
	size_t index;     /* the log's index in the list of logs */
	json_t *header;   /* the last header that was read; borrowed by callers, like everything in this struct */
	char run[AUDIT_RUN_ID_SHOWN_MAX * 4 + 1]; /* the beginning of the run's id, safe for a terminal */
	uint64_t start_ns; /* time of the header, in nanoseconds since the epoch */
};

/* One line of a log. Everything in it is borrowed until the next line is read. */
struct audit_entry {
	const struct audit_log *log;
	const char *json_text; /* valid JSON; in a compact log with the fields that the line leaves out */
	size_t len;
	const json_t *json;        /* a header or trailer as JSON; NULL: the line is a record */
	struct scan_record record; /* the record; valid if json is NULL */
	uint64_t time_ns; /* nanoseconds since the epoch; 0: the line has no valid time */
};

/* Which logs are read, and who gets their lines, merged by time. */
struct audit_reading {
	/* The logs, ended by NULL. A log continues in the file that its last line names, unless that file is listed. */
	const char *const *paths;
	/* when a log ends without a trailer, wait for further lines until it has a trailer or its writer has ended */
	bool follows_growing_logs;
	/* Called for each line. False ends reading. */
	bool (*each)(void *ctx, const struct audit_entry *entry);
	/* With follows_growing_logs: called whenever no line is left to read. False ends reading. May be NULL. */
	bool (*idle)(void *ctx);
	void *ctx;
};

/*
 * Reads all lines that can be parsed. Reports damaged lines and incomplete last lines on stderr. CLI_EXIT_OK, or
 * CLI_EXIT_ERROR when a log could not be read or a line was damaged.
 */
int audit_read_logs(const struct audit_reading *reading);

#endif
