/*
 * Reads the line of a record without making JSON objects: about twenty times as fast as read.h, for verbs that read
 * whole logs. It understands what encode.c writes. Other JSON of the same meaning must first be written compactly
 * (scan_line_else_parse_json). The contents are not trusted.
 */
#ifndef CALLGATE_AUDIT_SCAN_H
#define CALLGATE_AUDIT_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "audit/read.h"

/* A text as in the line: escaped twice (callgate-audit(5), TEXT). Borrowed from the line. at NULL: no such field. */
struct scan_text {
	const char *at;
	size_t len;
};

/* The fields of one path. */
struct scan_path {
	struct scan_text as_written;
	struct scan_text resolved_path;
	bool is_unresolved; /* the line has "resolved":null */
};

#define SCAN_PATHS_PER_RECORD_MAX 3 /* indices of path[]: path, path2, loader */

/* The fields of a line of a log. Texts are borrowed from the line, still escaped. */
struct scan_record {
	uint64_t seq;
	struct scan_text line_type;    /* type of a header or trailer; records have none */
	struct scan_text syscall; /* the system call; a record about a connection has `event` */
	struct scan_text event;   /* what the record tells, if it is about no system call */
	struct scan_text prev, outcomes; /* the fields "prev" and "outcomes" of the hash chain */
	struct scan_text time, run;
	struct scan_text args_json;     /* the whole object, with its braces: valid JSON except for the texts in it */
	struct scan_text symlink_target;  /* "target" of "args": of a symbolic link */
	struct scan_path path[SCAN_PATHS_PER_RECORD_MAX];
	struct scan_text host, proto, method;
	struct scan_text address, real, dropped, sni, alpn, credential, cause;
	struct scan_text answer; /* the answer to the question whether the call may be performed */
	struct scan_text answered_how; /* "socket", "command", "terminal", "client" or "remembered" */
	struct scan_text verdict, effect, on_deny, rule, reason, right, error;
	struct scan_text exe; /* absent when a compact log leaves it out */
	struct scan_text answered_by, dns_ms, connect_ms, duration_ms; /* numbers, as in the line */
	int64_t pid, tid, ppid, host_pid; /* 0: the line has none */
	uint64_t asked_ns, mono_ns, port, conn, status, bytes_up, bytes_down; /* 0: the line has none */
	/* number of the session's program that the process belongs to; 0: the line has none */
	uint64_t session_program_number;
	uint64_t call_flags;   /* "flags" of "args": of an open or a rename; 0: the call has none */
	uint64_t refusal_count;  /* 0: the line has none */
	int64_t ret;     /* if has_ret */
	uint64_t ns;     /* if has_ns */
	bool path_is_truncated; /* the path of the request is not on record as a whole */
	bool has_ret;    /* the line has "ret": the call succeeded */
	bool has_ns;     /* the outcome of the call is on record */
	bool has_byte_counts;  /* the line has bytes_up */
	bool was_observed; /* the judged policy denies the call, which was performed: --mode observe */
};

/* Scans a line. 0, or -EBADMSG: not a line as encode.c writes it. *ret_record borrows from text. */
int scan_parse_line_fast(const char *text, size_t len, struct scan_record *ret_record);

/*
 * Scans a line that audit_reader_read_unparsed returned. If that fails, jansson parses the line and writes it compactly
 * to *buffer (owned and freed by the caller), which is scanned. 0: *ret_record is set; 1: a line that is not scanned,
 * such as a header, is in line->json; -EBADMSG: no line of a log; -ENOMEM.
 */
int scan_line_else_parse_json(struct audit_reader *reader, struct audit_line *line, char **buffer,
		       struct scan_record *ret_record);

/*
 * Reads the next argument of a record: its name, and its value without quotes. *rest begins as record->args_json, and
 * becomes the text behind the argument. False at the end.
 */
bool scan_next_arg(struct scan_text *rest, struct scan_text *ret_name, struct scan_text *ret_value);

/*
 * True if the line is valid JSON, once scan_parse_line_fast has accepted it: texts are UTF-8 without control characters
 * and with valid escapes.
 */
bool scan_line_is_valid_json_text(const char *text, size_t len);

/*
 * Writes a text without the escapes of JSON: UTF-8 in which the log's own escapes stay (callgate-audit(5), TEXT). out
 * must hold text->len bytes. Returns the length, without a NUL; -EBADMSG: no valid text.
 */
ssize_t scan_copy_unescaped_utf8(const struct scan_text *text, char *out);

/* Writes a text without its escapes, NUL-terminated. Returns the length; -ENAMETOOLONG: does not fit in `cap`. */
int scan_copy_unescaped_bytes(const struct scan_text *text, char *out, size_t cap);

/* True when the field exists and is exactly this word. */
bool scan_text_equals(const struct scan_text *text, const char *word);

#endif
