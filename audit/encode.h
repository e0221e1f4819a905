/*
 * Makes the lines of the log. Used by the writer (audit.c) and by recover.c. Making a record's line uses no printf(3)
 * and allocates only for a line longer than any before it.
 */
#ifndef CALLGATE_AUDIT_ENCODE_H
#define CALLGATE_AUDIT_ENCODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit/audit.h"
#include "audit/clock.h"
#include "audit/record.h"

/*
 * The outcome: the last fields of a record, in space of a fixed width.
 *
 *     "ret":  null             ,"ns":null          }\n
 *     ^0      ^8               ^25   ^31           ^45
 *
 * Every step that fills it in is one store of at most 16 bytes, and the text is JSON before and after each. A writer
 * killed between two steps leaves a line that lacks a value, never one that does not parse. The space lies within one
 * page of the file, so that a page fault never splits a store.
 */
#define AUDIT_ROOM_VALUE 8
#define AUDIT_ROOM_NS 31
#define AUDIT_ROOM_BYTES 45
#define AUDIT_ROOM_PAGE 4096u

#define AUDIT_ERRNO_MAX 133 /* EHWPOISON, the kernel's highest */
#define AUDIT_RUN_MAX 8     /* bytes of the run's id in each line; the header has the whole id */

#define ENCODER_PROCESSES 64u

struct encoder {
	char *line; /* owned; the line being made */
	size_t cap;
	struct audit_clock clock;
	char run[AUDIT_RUN_MAX * 6];
	size_t run_len;
	/*
	 * Owned. What the log says of processes so far: a hash table by pid, one entry a slot. NULL: the log is not
	 * compact.
	 */
	struct encoder_process {
		pid_t pid, ppid, host_pid; /* pid 0: unused */
		char *exe;
	} *processes;
	struct encoder_name {
		const char *text;
		size_t len;
	} verdict[VERDICT_MAX], error[AUDIT_ERRNO_MAX + 1];
};

/* Initialises it. 0 or -ENOMEM. compact: lines leave out what earlier lines say. */
int encoder_init(struct encoder *encoder, const char *run_id, bool compact);
void encoder_release(struct encoder *encoder);

/*
 * Makes the line of a record that will lie at file offset `offset`. Returns 0 with the line's length and the offset of
 * the outcome in the line, or -ENOMEM. The text is encoder->line, valid until the next encode_record.
 */
int encode_record(struct encoder *encoder, const struct audit_record *record, uint64_t seq, uint64_t offset,
		  size_t *ret_len, size_t *ret_room);

/* compact.c: what the line of a record in a compact log leaves out. */
int compact_create_processes(struct encoder *encoder); /* 0 or -ENOMEM */
void compact_free_processes(struct encoder *encoder);
bool compact_omits_process(const struct encoder *encoder, const struct audit_record *record);
bool compact_omits_effect(const struct encoder *encoder, const struct audit_record *record);
/* To be called when the record is on file: later records may leave out what this one says of its process. */
void compact_remember_process(struct encoder *encoder, const struct audit_record *record);

/* outcome.c: fills in the outcome, also where another process maps the file; writes an unknown outcome. */
void outcome_store(const struct encoder *encoder, char *room, int64_t ret, uint64_t ns);
void outcome_write_unknown(char room[AUDIT_ROOM_BYTES]);

/* lines.c: the first and the last line of a run, owned by the caller. NULL when memory ran out. */
char *lines_make_header(struct encoder *encoder, const struct audit_header *header, uint64_t seq, size_t *ret_len);
char *lines_make_trailer(struct audit_clock *clock, const char *run, size_t run_len,
			 const struct audit_trailer *trailer, uint64_t seq, uint64_t records, size_t *ret_len);

#endif
