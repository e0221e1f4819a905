/* The state of the writer. Private to audit/. */
#ifndef CALLGATE_AUDIT_LOG_H
#define CALLGATE_AUDIT_LOG_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit/audit.h"
#include "audit/encode.h"

/* Memory that keeper and supervisor share, so that each can close the log after the other has died. */
struct log_shared {
	uint64_t end; /* length of all complete lines; advanced after a line is stored */
	uint64_t seq; /* number of the last record */
	uint64_t records;
	bool closed;
};

struct audit {
	int fd; /* -1: records are only counted */
	bool record_allowed;
	bool direct; /* write by pwrite(2): the file system lacks fallocate(2) or shared mappings */
	struct log_shared *shared;
	/* The mapped part of the file, where lines are appended. pwrite(2) writes outcomes of lines before it. */
	char *window;
	uint64_t window_start;
	uint64_t window_end;
	size_t chunk_bytes; /* size of the next window in bytes */
	pthread_t writer;   /* the thread that appends lines; no other thread may use the window */
	struct encoder encoder;
	int error; /* the result of audit_get_error() */
};

/* Bytes that are always allocated after the records, so that the trailer can be written when the disk is full. */
#define LOG_TRAILER_BYTES 1024u

/* Stores a line at shared->end, and advances the end. 0, or -errno: then nothing was stored. */
int log_append_line(struct audit *audit, const char *line, size_t len);
/* Stores a line by pwrite(2), as header and trailer are stored. Returns as log_append_line. */
int log_append_by_pwrite(struct audit *audit, const char *line, size_t len);
/* Writes a whole line at `end`, the length of the file; on failure cuts the file to that length. 0 or -errno. */
int log_write_line(int fd, const char *line, size_t len, uint64_t end);
/* True when this thread may write [offset, offset + len) through the window. */
bool log_is_in_window(const struct audit *audit, uint64_t offset, size_t len);
void log_unmap_window(struct audit *audit);

#endif
