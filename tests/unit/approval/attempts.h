/* What the attempts of test_attempts have in common: rows, and an approver with two open questions. */
#ifndef CALLGATE_TESTS_UNIT_APPROVAL_ATTEMPTS_H
#define CALLGATE_TESTS_UNIT_APPROVAL_ATTEMPTS_H

#include <check.h>
#include <stdbool.h>
#include <stddef.h>

#include "approval/private.h"

#define TEXT_BYTES_MAX 16384u
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum {
	OFFERS_RUN = 1, /* "run" and "remember" are offered */
	HAS_FILE = 2,   /* there is a file of --approvals */
	ENDS = 4,       /* the front closes its end behind these bytes */
};

/*
 * bytes: $A, $B are the ids of the two open questions, $C is that of a closed one, $S and $P are scope and policy of A.
 * expected: the answers that the supervisor gets, "A no; B gone; ".
 */
struct attempt {
	const char *sentence, *bytes;
	size_t len;
	const char *expected;
	unsigned flags;
};

#define TRIES(sentence, bytes, expected, ...)                             \
	{                                                                 \
		sentence, bytes, sizeof(bytes) - 1, expected, __VA_ARGS__ \
	}
#define ALL_GONE "A gone; B gone; "

struct rig {
	struct approver approver;
	int supervisor_fd, front_fd;
};

/* Counts an attempt that was made. */
void attempt_count(void);
/* Makes an id, scope or policy of one digit. */
void attempt_fill(char id[SHA256_HEX_SIZE], char digit);
/* Writes the bytes of a row with the ids where it names them. Returns the length. */
size_t attempt_expand(const struct attempt *attempt, char out[TEXT_BYTES_MAX]);
/* Writes all bytes. */
void attempt_write(int fd, const char *bytes, size_t len);

void rig_make(struct rig *rig, const struct approver_front *front, unsigned flags);
/* Opens question A (at 0) or B (at 1). */
void rig_open_question(struct rig *rig, unsigned at, bool offers_run);
/* Handles what the front has written, and what it goes on to write, until it is read or its end is seen. */
void rig_handle(struct rig *rig, int wait_ms);
/* Checks the answers that came, in order. */
void rig_expect(struct rig *rig, const char *sentence, const char *expected);
void rig_free(struct rig *rig);

/* attempts-terminal.c and attempts-text.c: add their tests. */
void attempts_add_terminal_tests(TCase *all);
void attempts_add_text_tests(TCase *all);

#endif
