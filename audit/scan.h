/*
 * Reads the line of a record without making JSON objects: about twenty times as fast as read.h, for verbs that read
 * whole logs. It understands what encode.c writes. Other JSON of the same meaning must first be written compactly
 * (scan_line_or_parse). The contents are not trusted.
 */
#ifndef CALLGATE_AUDIT_SCAN_H
#define CALLGATE_AUDIT_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit/read.h"

/* A text as in the line: escaped twice (callgate-audit(5), TEXT). Borrowed from the line. at NULL: no such field. */
struct scan_text {
	const char *at;
	size_t len;
};

/* The fields of one path. */
struct scan_path {
	struct scan_text written;
	struct scan_text resolved;
	bool unresolved; /* the line has "resolved":null */
};

#define SCAN_PATHS 3 /* indices of path[]: path, path2, loader */

struct scan_record {
	uint64_t seq;
	struct scan_text type;    /* type of a header or trailer; records have none */
	struct scan_text syscall; /* the system call; a record about a connection has `event` */
	struct scan_text event;
	struct scan_text target;  /* "target" of "args": of a symbolic link */
	struct scan_path path[SCAN_PATHS];
	struct scan_text host, proto, method;
	struct scan_text verdict, rule, reason, right, error;
	struct scan_text exe; /* absent when a compact log leaves it out */
	uint64_t port;
	uint64_t count;  /* 0: the line has none */
	bool truncated;
	bool has_ret;    /* the line has "ret": the call succeeded */
	bool observed;   /* the judged policy denies the call, which was performed: --mode observe */
};

/* Scans a line. 0, or -EBADMSG: not a line as encode.c writes it. *ret_record borrows from text. */
int scan_line(const char *text, size_t len, struct scan_record *ret_record);

/*
 * Scans a line that audit_reader_read_text returned. If that fails, jansson parses the line, writes it compactly to
 * *buffer (owned and freed by the caller), and this is scanned. 0; 1: a line that only jansson reads, such as a header,
 * is in line->json; -EBADMSG: no line of a log; -ENOMEM.
 */
int scan_line_or_parse(struct audit_reader *reader, struct audit_line *line, char **buffer,
		       struct scan_record *ret_record);

/* Writes a text without its escapes, NUL-terminated. Returns the length; -ENAMETOOLONG: does not fit in `cap`. */
int scan_get_bytes(const struct scan_text *text, char *out, size_t cap);

/* True when the field exists and is exactly this word. */
bool scan_text_is(const struct scan_text *text, const char *word);

#endif
