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

/* An audit log that is being written. */
struct audit {
	int fd; /* -1: records are only counted */
	char *first_file_path;                      /* path of the first file; owned; NULL: only fd is known */
	char *current_file_path;              /* path of the current file; owned; NULL: only fd is known */
	unsigned file_number;            /* number of the current file */
	uint64_t bytes_in_earlier_files; /* bytes of the files before; offsets of lines count from the first file */
	uint64_t rotate_bytes;           /* size at which another file is begun; 0: the log is one file */
	int rotation_error;              /* -errno: another file could not be begun; 0: none failed */
	volatile unsigned *ret_file;
	struct audit_progress *progress;
	char *common_header_text; /* what all headers have in common; owned */
	char *key;    /* audit_header.key; owned */
	struct log_older_file {
		int fd; /* the file, open until all its records have their outcome */
		uint64_t bytes_before, bytes_up_to_end;
	} * older_file; /* files before the current one; owned; chain.lock protects the array */
	size_t older_file_count;
	bool records_allowed_calls; /* allowed calls are recorded, too */
	bool writes_by_pwrite; /* write by pwrite(2): the file system lacks fallocate(2) or shared mappings */
	uint64_t file_length;  /* length of all complete lines of the file */
	uint64_t seq;     /* number of the last line */
	uint64_t record_count; /* number of records in all files of the run */
	/* The mapped part of the file, where lines are appended. pwrite(2) writes outcomes of lines before it. */
	char *mmap_window;
	uint64_t mmap_window_start_offset; /* offsets of the window in the file */
	uint64_t mmap_window_end_offset;
	size_t next_mmap_window_bytes; /* size of the next window in bytes */
	pthread_t writer;   /* the thread that appends lines; no other thread may use the window */
	struct encoder encoder;
	struct chain chain;
	int first_error; /* the result of audit_get_error() */
};

/* Bytes that are always allocated after the records, so that the trailer can be written when the disk is full. */
#define LOG_TRAILER_RESERVED_BYTES 2048u

/* Stores a line at the end of the file, and advances file_length. 0, or -errno: then nothing was stored. */
int log_append_line(struct audit *audit, const char *line, size_t len);
/*
 * Stores a line at the end of the file by pwrite(2), as is done for header and trailer. 0, or -errno: nothing was
 * stored.
 */
int log_append_by_pwrite(struct audit *audit, const char *line, size_t len);
/* Writes a whole line at `end`, the length of the file; on failure cuts the file to that length. 0 or -errno. */
int log_write_line(int fd, const char *line, size_t len, uint64_t end);
/* Returns where [offset, offset + len) is mapped; NULL: not in the window, or this thread may not use the window. */
char *log_find_in_window(const struct audit *audit, uint64_t offset, size_t len);
/* Reads or writes a part of a line. 0 or -errno. */
int log_read_at(const struct audit *audit, char *bytes, size_t len, uint64_t offset);
int log_write_at(const struct audit *audit, const char *bytes, size_t len, uint64_t offset);
/* Closes earlier files all of whose records have their outcome. The caller holds chain.lock. */
void log_close_older_files(struct audit *audit);
/* Begins another file if the current one is full. 0 or -errno: then nothing may be appended any more. */
int log_rotate(struct audit *audit);
/* Appends a line without outcome: a header or a trailer. Borrows `line`; returns -ENOMEM if it is NULL. */
int log_append_whole_line(struct audit *audit, const char *line, size_t len);
/* Writes the header of the file. previous: the name of the file before, or NULL. */
int log_write_header(struct audit *audit, const char *previous);
/* In file.c: creates or opens a log file, as audit_make_log_file says. *ret_made: it was created. */
int log_open_file(const char *path, bool *ret_made);
/* Keeps the first error, for audit_get_error. 0 is none. */
void log_remember_error(struct audit *audit, int error);
void log_munmap_window(struct audit *audit);

#endif
