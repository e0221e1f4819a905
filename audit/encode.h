/* Makes the lines of the log: JSON without printf or allocation on the way of a call. */
#ifndef CALLGATE_AUDIT_ENCODE_H
#define CALLGATE_AUDIT_ENCODE_H

#include <stddef.h>
#include <stdint.h>

#include "audit/audit.h"
#include "audit/clock.h"
#include "audit/record.h"

/*
 * The room for the outcome, the last fields of a record:
 *
 *     "ret":  null             ,"ns":null          }\n
 *     ^0      ^8               ^25   ^31           ^45
 *
 * Every step that fills it is one store of at most 16 bytes, and the text parses before and after each: a writer killed
 * between two leaves a line that says less, never a broken one. The room lies within one page of the file, so that no
 * store is split by a fault between two pages.
 */
#define AUDIT_ROOM_VALUE 8
#define AUDIT_ROOM_NS 31
#define AUDIT_ROOM_BYTES 45
#define AUDIT_ROOM_PAGE 4096u

#define AUDIT_ERRNO_MAX 133 /* EHWPOISON, the highest the kernel has */
#define AUDIT_RUN_MAX 8     /* bytes of the run's id that each line repeats; the header has it whole */

#define ENCODER_SAID 64u

struct encoder {
	char *line; /* owned; the line being made */
	size_t cap;
	struct audit_clock clock;
	char run[AUDIT_RUN_MAX * 6];
	size_t run_len;
	struct encoder_said {
		pid_t pid, ppid, host_pid; /* pid 0: of nobody */
		char *exe;
	} *said; /* owned, ENCODER_SAID of them: what the log has of processes by now; NULL: the log is not compact */
	struct encoder_name {
		const char *text;
		size_t len;
	} verdict[VERDICT_MAX], error[AUDIT_ERRNO_MAX + 1];
};

/* 0 or -ENOMEM. encode_done releases it. compact: lines leave out what earlier ones said. */
int encode_init(struct encoder *encoder, const char *run_id, bool compact);
void encode_done(struct encoder *encoder);

/*
 * Makes the line of a record that will lie at file offset `offset`. 0 with its length and the place of its outcome's
 * room in the line, or -ENOMEM. The text is encoder->line, valid until the next encode_* call.
 */
int encode_record(struct encoder *encoder, const struct audit_record *record, uint64_t seq, uint64_t offset,
		  size_t *ret_len, size_t *ret_room);

/* The record is on file: what it says of its process need not be said again in a compact log. */
void encode_remember(struct encoder *encoder, const struct audit_record *record);

/* The outcome into a room that may be read at any moment (mapped), or a whole room's text for pwrite(2). */
void encode_outcome(const struct encoder *encoder, char *room, int64_t ret, uint64_t ns);
void encode_empty_room(char room[AUDIT_ROOM_BYTES]);

/* Puts the decimal digits (20 at most, no NUL) and returns where they end. */
char *encode_uint(char *out, uint64_t value);

/* The first and the last line of a run, owned by the caller. NULL when memory ran out. */
char *encode_header(struct encoder *encoder, const struct audit_header *header, uint64_t seq, size_t *ret_len);
char *encode_trailer(struct audit_clock *clock, const char *run, size_t run_len, const struct audit_trailer *trailer,
		     uint64_t seq, uint64_t records, size_t *ret_len);

#endif
