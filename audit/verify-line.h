/* Reads the beginning of one line of a log: its number and hashes. verify.c puts the lines into a chain. */
#ifndef CALLGATE_AUDIT_VERIFY_LINE_H
#define CALLGATE_AUDIT_VERIFY_LINE_H

#include "audit/verify.h"

/* What is left to read of a line. */
struct verify_cursor {
	const char *at, *end;
};

/* Moves the cursor past the text, if it comes next. */
bool verify_accept_text(struct verify_cursor *cursor, const char *word, size_t len);
/* skips a literal text if it comes next; false: other text comes next */
#define VERIFY_ACCEPT_TEXT(cursor, word) verify_accept_text((cursor), "" word, sizeof(word) - 1)

/* Moves the cursor past a decimal number. False: there is none, or it is too large. */
bool verify_read_number(struct verify_cursor *cursor, uint64_t *ret_number);

/*
 * Parses the beginning of a line. *ret_rest is the text behind the hash. expected: the hash of the line before, which
 * the line has if it is in order.
 */
void verify_parse_line(struct verify_line *line, const char *text, size_t len, const char *expected,
		       struct verify_cursor *ret_rest);

/* Computes the line's hash, and keeps the state before the outcome, to hash the line without it. */
void verify_hash_line(struct verify_line *line, const char *text, size_t len);

/* Returns the hash that the line had before its outcome was known. Computes it at the first call. */
const char *verify_get_hash_without_outcome(struct verify_line *line);

#endif
