/* The state of the writer. Private to audit/. */
#ifndef CALLGATE_AUDIT_LOG_H
#define CALLGATE_AUDIT_LOG_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit/audit.h"
#include "audit/chain.h"
#include "audit/encode.h"

struct audit {
	int fd; /* -1: records are only counted */
	char *path;         /* of the first file; owned; NULL: only fd is known */
	char *current;      /* of the file that is written; owned; NULL as path */
	unsigned file;      /* number of that file */
	uint64_t base;      /* bytes of the files before; offsets of lines count from the first file */
	uint64_t rotate_bytes; /* 0: all is in one file */
	int rotation_error;
	volatile unsigned *ret_file;
	struct audit_progress *progress;
	char *header; /* what all headers have in common; owned */
	char *key;    /* audit_header.key; owned */
	struct log_older {
		int fd; /* open as long as outcomes of its records are to come */
		uint64_t base, end;
	} *older; /* files before the one that is written; owned; chain.lock holds them for workers */
	size_t olders;
	bool record_allowed;
	bool writes_by_pwrite; /* write by pwrite(2): the file system lacks fallocate(2) or shared mappings */
	uint64_t end;     /* length of all complete lines of the file */
	uint64_t seq;     /* number of the last line */
	uint64_t records; /* in all files of the run */
	/* The mapped part of the file, where lines are appended. pwrite(2) writes outcomes of lines before it. */
	char *mmap_window;
	uint64_t window_start;
	uint64_t window_end;
	size_t chunk_bytes; /* size of the next window in bytes */
	pthread_t writer;   /* the thread that appends lines; no other thread may use the window */
	struct encoder encoder;
	struct chain chain;
	int error; /* the result of audit_get_error() */
};

/* Bytes that are always allocated after the records, so that the trailer can be written when the disk is full. */
#define LOG_TRAILER_BYTES 2048u

/* Stores a line at audit->end, and advances the end. 0, or -errno: then nothing was stored. */
int log_append_line(struct audit *audit, const char *line, size_t len);
/* Stores a line by pwrite(2), as header and trailer are stored. Returns as log_append_line. */
int log_append_by_pwrite(struct audit *audit, const char *line, size_t len);
/* Writes a whole line at `end`, the length of the file; on failure cuts the file to that length. 0 or -errno. */
int log_write_line(int fd, const char *line, size_t len, uint64_t end);
/* Returns where [offset, offset + len) is mapped; NULL: not in the window, or this thread may not use the window. */
char *log_find_in_window(const struct audit *audit, uint64_t offset, size_t len);
/* Reads or writes a part of a line. 0 or -errno. */
int log_read_at(const struct audit *audit, char *bytes, size_t len, uint64_t offset);
int log_write_at(const struct audit *audit, const char *bytes, size_t len, uint64_t offset);
/* Closes files before the current one of whose records none is unfinished. chain.lock is held. */
void log_close_older(struct audit *audit);
/* Begins another file if the current one is full. 0 or -errno: then nothing may be appended any more. */
int log_rotate(struct audit *audit);
/* Appends a line without outcome: a header or a trailer. Takes nothing; line NULL is -ENOMEM. */
int log_append_whole_line(struct audit *audit, const char *line, size_t len);
/* Writes the header of the file. previous: the name of the file before, or NULL. */
int log_write_header(struct audit *audit, const char *previous);
/* In file.c: creates or opens a log file, as audit_make_log_file says. *ret_made: it was created. */
int log_open_file(const char *path, bool *ret_made);
/* Keeps the first error, for audit_get_error. 0 is none. */
void log_keep_error(struct audit *audit, int error);
void log_munmap_window(struct audit *audit);

#endif
