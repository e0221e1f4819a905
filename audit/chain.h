/*
 * The writer's part of the chain. A line is sealed when its hash is known: when its outcome is on file and all lines
 * before are sealed. The next line has that hash. A line that is appended before that has a blank in its place, which
 * is filled in later. No more than CHAIN_UNSEALED_LINES_MAX lines wait: then the oldest is sealed without its outcome.
 * A later line has the hash of the finished line in its field "outcomes".
 */
#ifndef CALLGATE_AUDIT_CHAIN_H
#define CALLGATE_AUDIT_CHAIN_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit/audit.h"
#include "audit/hash.h"

/* how many lines may wait to be sealed; callgate-audit(5) and verify.c rely on this number */
#define CHAIN_UNSEALED_LINES_MAX 64u
#define CHAIN_LATE_HASHES_PER_RECORD_MAX 8u /* most hashes in the "outcomes" of one record; the trailer has all */
/* one late outcome in a line: sequence number, hash and separators */
#define CHAIN_LATE_HASH_ENTRY_BYTES (21 + HASH_DIGITS + 1)

/* The hash chain of a log that is being written, with the lines that are not sealed yet. */
struct chain {
	char head_hash[HASH_DIGITS]; /* hash of the last sealed line */
	/* number of sealed lines, which is the number of the first line that is not sealed */
	uint64_t sealed_line_count;
	uint64_t line_count;         /* number of lines */
	struct chain_line {
		uint64_t state; /* 2 * number of the line, plus 1 when it has its outcome; worker threads change it */
		uint64_t offset;
		size_t len;
	} waiting[CHAIN_UNSEALED_LINES_MAX]; /* ring buffer: a line is at its number modulo CHAIN_UNSEALED_LINES_MAX */
	pthread_mutex_t lock;               /* protects what worker threads change, and the fields below */
	struct chain_late_line {
		uint64_t seq, offset;
		size_t len;
		bool has_outcome;
	} *late; /* lines that were sealed without their outcome; owned */
	size_t late_count, late_cap;
	/* how many lines of `late` have got their outcome; also read without the lock */
	size_t finished_late_line_count;
	char *line_buffer;    /* a line that is not in the window; owned */
	size_t line_buffer_bytes; /* room in line_buffer */
};

int chain_init(struct chain *chain); /* returns 0 or -errno */
void chain_release(struct chain *chain);

/*
 * Each function is for the thread that appends lines, except chain_end_record. Functions that return int return 0, or
 * -errno when the file cannot be read or written, or memory ran out. After an error nothing may be appended.
 */

/* Seals lines that have their outcome, and makes room for one more line. To be called before a line is appended. */
int chain_make_room_for_line(struct audit *audit);
/* Seals every line, also lines without their outcome. To be called before the last line is appended. */
int chain_seal_all(struct audit *audit);
/* Returns the digits that the next line has as hash of the line before: HASH_BLANK while they are not known. */
const char *chain_get_hash_for_next_line(const struct chain *chain);
/*
 * Writes the hashes of at most `max` lines that were finished after they were sealed: `NUMBER:DIGITS NUMBER:DIGITS`.
 * *ret_count is how many; chain_drop_outcomes forgets them when they are on file.
 */
int chain_write_outcomes(struct audit *audit, char *out, size_t max, size_t *ret_count, size_t *ret_len);
void chain_drop_outcomes(struct audit *audit, size_t count);
/* Adds the line that was appended at `offset`. finished: no outcome is to come for it. */
int chain_add_line(struct audit *audit, uint64_t offset, size_t len, bool finished);
/* Stores the outcome of a record, unless it has one. For any thread. */
void chain_end_record(struct audit *audit, struct audit_outcome_location location, int64_t ret, uint64_t ns);

#endif
