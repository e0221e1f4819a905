/*
 * Reads the line of a record without making JSON objects of it: some twenty times as fast as read.h, for verbs that
 * read whole logs. It understands what encode.c writes; other JSON of the same meaning has to be written compactly
 * first (scan_line_or_parse). The contents are not trusted.
 */
#ifndef CALLGATE_AUDIT_SCAN_H
#define CALLGATE_AUDIT_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit/read.h"

/* A text as the line holds it: escaped twice (callgate-audit(5), TEXT). Borrows from the line. at NULL: no field. */
struct scan_text {
	const char *at;
	size_t len;
};

/* A path field. */
struct scan_path {
	struct scan_text written;
	struct scan_text resolved;
	bool unresolved; /* "resolved":null */
};

#define SCAN_PATHS 3 /* path, path2, loader */

struct scan_record {
	uint64_t seq;
	struct scan_text type;    /* of a header or trailer; records have none */
	struct scan_text syscall; /* or event */
	struct scan_text event;
	struct scan_text target;  /* args.target: of a symbolic link */
	struct scan_path path[SCAN_PATHS];
	struct scan_text host, proto, method;
	struct scan_text verdict, rule, reason, right, error;
	struct scan_text exe; /* absent where a compact log leaves it out */
	uint64_t port;
	uint64_t count;  /* 0: left out */
	bool truncated;
	bool has_ret;    /* the call succeeded */
	bool observed;   /* performed although it was denied: --mode observe */
};

/* 0, or -EBADMSG: not a line of the form that encode.c writes. *ret_record borrows from text. */
int scan_line(const char *text, size_t len, struct scan_record *ret_record);

/*
 * scan_line of a line that audit_reader_read_text returned; where that fails, of the same line parsed by jansson and
 * written compactly to *buffer, which the caller owns and frees. 0; 1: a header, or another line that only jansson
 * reads: line->json; -EBADMSG: no line of a log; -ENOMEM.
 */
int scan_line_or_parse(struct audit_reader *reader, struct audit_line *line, char **buffer,
		       struct scan_record *ret_record);

/* The bytes of a text without its escapes, NUL-terminated. Their number, or -ENAMETOOLONG: not below `cap`. */
int scan_get_bytes(const struct scan_text *text, char *out, size_t cap);

/* True when the field is there and is exactly this word. */
bool scan_text_is(const struct scan_text *text, const char *word);

#endif
