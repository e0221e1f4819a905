/*
 * The writer's part of the chain. A line is sealed when its hash is known: when its outcome is on file and all lines
 * before are sealed. The next line has that hash. A line that is appended before that has a blank in its place, which
 * is filled in later. No more than CHAIN_WAITING lines wait: then the oldest is sealed without its outcome. A later
 * line has the hash of the finished line in its field "outcomes".
 */
#ifndef CALLGATE_AUDIT_CHAIN_H
#define CALLGATE_AUDIT_CHAIN_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit/audit.h"
#include "audit/hash.h"

#define CHAIN_WAITING 64u     /* lines that may wait for their seal; callgate-audit(5) and verify.c know the number */
#define CHAIN_OUTCOMES_MAX 8u /* most hashes in the "outcomes" of one record; the trailer has all */
#define CHAIN_OUTCOME_BYTES (21 + HASH_DIGITS + 1)

struct chain {
	char head[HASH_DIGITS]; /* hash of the last sealed line */
	uint64_t sealed;        /* number of sealed lines, which is the number of the first line that is not sealed */
	uint64_t lines;         /* number of lines */
	struct chain_line {
		uint64_t state; /* number of the line, times two, plus one when it is finished; workers change it */
		uint64_t offset;
		size_t len;
	} waiting[CHAIN_WAITING]; /* by number, modulo the size */
	pthread_mutex_t lock;     /* for what workers do, and for what is below */
	struct chain_late {
		uint64_t seq, offset;
		size_t len;
		bool finished;
	} *late; /* lines that were sealed without their outcome; owned */
	size_t late_count, late_cap;
	size_t finished; /* how many of them are finished; read without the lock, too */
	char *buffer;    /* a line that is not in the window; owned */
	size_t buffer_bytes;
};

int chain_init(struct chain *chain); /* returns 0 or -errno */
void chain_release(struct chain *chain);

/*
 * Each function is for the thread that appends lines, except chain_end_record. Those that return int: 0, or -errno when
 * the file cannot be read or written, or memory ran out. Then nothing may be appended any more.
 */

/* Makes room for one more line, and seals what is finished. Before each line. */
int chain_prepare(struct audit *audit);
/* Seals every line; those that are not finished as they are on file. Before the last line. */
int chain_seal_all(struct audit *audit);
/* Returns the digits for the next line: the head, or the blank. */
const char *chain_get_prev(const struct chain *chain);
/*
 * Writes the hashes of at most `max` lines that were finished after they were sealed: `NUMBER:DIGITS NUMBER:DIGITS`.
 * *ret_count is how many; chain_drop_outcomes forgets them when they are on file.
 */
int chain_write_outcomes(struct audit *audit, char *out, size_t max, size_t *ret_count, size_t *ret_len);
void chain_drop_outcomes(struct audit *audit, size_t count);
/* Adds the line that was appended at `offset`. finished: it has no outcome. */
int chain_add_line(struct audit *audit, uint64_t offset, size_t len, bool finished);
/* Stores the outcome of a record, unless it has one. For any thread. */
void chain_end_record(struct audit *audit, struct audit_slot slot, int64_t ret, uint64_t ns);

#endif
