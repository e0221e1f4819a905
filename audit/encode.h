/*
 * Makes the lines of the log, for the writer (audit.c) and recover.c. Making the line of a record uses no printf(3),
 * and allocates memory only for a line longer than all before.
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
 * The outcome is the last two fields of a record, in space of fixed width:
 *
 *     "ret":  null             ,"ns":null          }
 *     ^0      ^8               ^25   ^31           ^45
 *
 * Each step that fills it in is one store of at most 16 bytes, and the line is JSON before and after each. A writer
 * that is killed between two steps leaves a line that lacks a value, but can be parsed. The space lies within one page
 * of the file, so that a page fault never splits a store.
 */
#define AUDIT_OUTCOME_VALUE_OFFSET 8
#define AUDIT_OUTCOME_NS_OFFSET 31 /* where the value of "ns" begins in the outcome */
#define AUDIT_OUTCOME_BYTES 45     /* length of the outcome's space, without the record's closing "}" */
#define AUDIT_PAGE_BYTES 4096u     /* the outcome lies within one page of this size of the file */

#define AUDIT_ERRNO_MAX 133 /* EHWPOISON, the highest errno of the kernel */
#define AUDIT_RUN_ID_BYTES 8     /* bytes of the run id in each line; the header has the whole id */

/* slots for processes that the compact log has described; slot: pid modulo this */
#define ENCODER_PROCESS_TABLE_SLOTS 64u

/* What making the lines of one log needs. */
struct encoder {
	char *line_buffer; /* the log line that is being made; owned */
	size_t cap;
	struct audit_clock clock;
	char run[AUDIT_RUN_ID_BYTES * 6];
	size_t run_id_len;
	/*
	 * What the log says of processes so far: a hash table by pid, one entry in each slot. Owned. NULL: the log is
	 * not compact.
	 */
	struct encoder_process {
		pid_t pid, ppid, host_pid; /* pid 0: the slot is unused */
		unsigned program;
		char *exe;
	} *processes;
	struct encoder_name {
		const char *text;
		size_t len;
	} verdict[VERDICT_MAX], error[AUDIT_ERRNO_MAX + 1];
};

/* What a line says about other lines of the chain: see chain.h. */
struct line_chain_fields {
	const char *prev_hash;     /* HASH_DIGITS digits, or HASH_BLANK */
	const char *outcomes_text; /* text of "outcomes" */
	size_t outcomes_text_len;  /* 0: left out */
};

/* Initialises an encoder. 0 or -ENOMEM. compact: lines leave out what earlier lines say. */
int encoder_init(struct encoder *encoder, const char *run_id, bool compact);
void encoder_release(struct encoder *encoder);

/*
 * Makes the line of a record that will begin at `offset` in the file. Returns 0 with the length of the line and the
 * offset of the outcome in it, or -ENOMEM. The text is encoder->line_buffer, valid until the next encode_record.
 */
int encode_record(struct encoder *encoder, const struct audit_record *record, const struct line_chain_fields *links,
		  uint64_t seq, uint64_t offset, size_t *ret_len, size_t *ret_room);

/* In compact.c: what the line of a record leaves out in a compact log. */
int compact_create_process_table(struct encoder *encoder); /* returns 0 or -ENOMEM */
void compact_free_process_table(struct encoder *encoder);
bool compact_omits_process(const struct encoder *encoder, const struct audit_record *record);
bool compact_omits_effect(const struct encoder *encoder, const struct audit_record *record);
/* To be called when a new file of the log begins: a reader of it may not have the earlier files. */
void compact_forget_processes(struct encoder *encoder);
/* To be called when a record is in the file: later records may leave out what it says of its process. */
void compact_remember_process(struct encoder *encoder, const struct audit_record *record);

/* In outcome.c: store the outcome into a line, even while another process maps the file; write an unknown outcome. */
void outcome_store(const struct encoder *encoder, char *room, int64_t ret, uint64_t ns);
void outcome_write_unknown(char room[AUDIT_OUTCOME_BYTES]);

/*
 * In lines.c: make the lines that are no records, owned by the caller. NULL when out of memory.
 * lines_make_common_header makes what the headers of all files have in common, lines_make_file_header a header,
 * lines_make_next_file_line the last line of a file that goes on in another one. The trailer has its own hash, and a
 * blank for the signature: sign.h.
 */
char *lines_make_common_header(const struct audit_header *header);
char *lines_make_file_header(struct encoder *encoder, const char *header, const char *key, const char *previous,
		       const struct line_chain_fields *links, unsigned file, uint64_t seq, size_t *ret_len);
char *lines_make_next_file_line(struct encoder *encoder, const char *next, const struct line_chain_fields *links,
				uint64_t seq, size_t *ret_len);
char *lines_make_trailer(struct audit_clock *clock, const char *run, size_t run_len,
			 const struct audit_trailer *trailer, const struct line_chain_fields *links, unsigned file,
			 uint64_t seq, uint64_t records, size_t *ret_len);

#endif
