/* The writer's own state. Private to audit/. */
#ifndef CALLGATE_AUDIT_LOG_H
#define CALLGATE_AUDIT_LOG_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit/audit.h"
#include "audit/encode.h"

/*
 * In memory shared by the process that opened the log (the keeper) and the one that writes records (the supervisor), so
 * that either can end it, whatever became of the other.
 */
struct log_shared {
	uint64_t end; /* bytes of whole lines; moved after a line is there */
	uint64_t seq; /* the last one given */
	uint64_t records;
	bool closed;
};

struct audit {
	int fd; /* -1: the log is only counted */
	bool record_allowed;
	bool direct; /* the file system has no fallocate(2) or no shared mappings: records go by pwrite(2) */
	struct log_shared *shared;
	/* The mapped piece of the file that is written now; slots in older pieces are patched by pwrite(2). */
	char *window;
	uint64_t window_start;
	uint64_t window_end;
	size_t chunk_bytes; /* size of the next window */
	pthread_t writer;   /* the thread that appends; only it may touch the window */
	struct encoder encoder;
	int error; /* the first -errno of a record that could not be written */
};

/* Kept allocated past the records, so that the trailer finds room on a full disk. */
#define LOG_TRAILER_BYTES 1024u

/* Puts a line at shared->end and moves it. 0, or -errno with nothing recorded. */
int log_append(struct audit *audit, const char *line, size_t len);
/* The same by pwrite(2), for header and trailer. */
int log_append_direct(struct audit *audit, const char *line, size_t len);
/* Writes all of it at `end` of the file, which is as long as before on failure. 0 or -errno. */
int log_write(int fd, const char *line, size_t len, uint64_t end);
/* True when [offset, offset + len) may be written through the window by this thread. */
bool log_in_window(const struct audit *audit, uint64_t offset, size_t len);
void log_unmap(struct audit *audit);

#endif
