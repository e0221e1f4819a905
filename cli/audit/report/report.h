/*
 * Declarations shared by the source files of `callgate audit report`, which writes logs as one HTML page. The page
 * carries the records as JSON in data blocks and the scripts of page/, which show them. Memory does not depend on the
 * size of the logs: texts and records have caps.
 */
#ifndef CALLGATE_CLI_AUDIT_REPORT_REPORT_H
#define CALLGATE_CLI_AUDIT_REPORT_REPORT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "audit/verify.h"

#define REPORT_RECORDS_MAX 500000u         /* most records in a page; of longer logs the page has a sample */
#define REPORT_TEXT_BYTES_MAX (64u << 20)  /* bytes of distinct texts in a page; later texts are left out */
#define REPORT_DENIALS_MAX 2000u           /* most distinct denials that are listed; further ones are only counted */
#define REPORT_RUNS_MAX 100u

int audit_main_report(int argc, char **argv);

/* ---- texts.c: the distinct texts of the page, each with a number ---- */

struct report_texts;
#define REPORT_TEXT_NUMBER_OF_NO_TEXT 0u  /* the number in a row that means: no text */
#define REPORT_TEXT_NUMBER_OF_LEFT_OUT 1u /* number that stands for a text left out because of REPORT_TEXT_BYTES_MAX */

struct report_texts *report_texts_create(void);
void report_texts_free(struct report_texts *texts);
/* Adds a text, unless it was added before. Returns its number. json: the bytes are a JSON value, not a string. */
uint32_t report_texts_add(struct report_texts *texts, const char *bytes, size_t len, bool json);
/*
 * Does report_texts_add for the string `key` of an object. REPORT_TEXT_NUMBER_OF_NO_TEXT: the object has no
 * such string.
 */
uint32_t report_texts_add_field(struct report_texts *texts, const json_t *object, const char *key);
/* Writes all texts as data blocks. */
void report_texts_write(const struct report_texts *texts, FILE *out);
bool report_texts_are_complete(const struct report_texts *texts);

/* ---- rows.c: the records of the page, stored as columns of numbers ---- */

enum report_column {
	REPORT_RUN_INDEX,     /* index of the run */
	REPORT_SEQ_DELTA,     /* sequence number of the record, minus that of the row before */
	REPORT_TIME_DELTA_NS, /* time of the record in ns, minus that of the row before */
	REPORT_PID,
	REPORT_TID, /* thread id; 0: equals the pid */
	REPORT_PPID,
	REPORT_EXE,
	REPORT_SYSCALL_NAME, /* name of the system call, or "net." and the name of the network event */
	REPORT_VERDICT,
	REPORT_DENIAL_EFFECT,
	REPORT_ACCESS_RIGHT,
	REPORT_PATH,
	REPORT_RESOLVED_PATH, /* number of the canonical path in the page's list of texts; -1: the record has null */
	REPORT_SECOND_PATH,
	REPORT_SECOND_RESOLVED_PATH,
	REPORT_HOST,
	REPORT_PORT,
	REPORT_RULE,
	REPORT_REASON,
	REPORT_ERRNO,
	REPORT_RETURN_VALUE,
	REPORT_DURATION_NS,  /* duration of the call; -1: the record has null */
	REPORT_OTHER_FIELDS, /* number of a text in the page's list: a JSON object with all other fields */
	REPORT_COLUMN_COUNT,
};

struct report_rows;
struct report_rows *report_rows_create(void);
void report_rows_free(struct report_rows *rows);
/* Adds a record. Writes a data block to `out` when a block has enough rows. */
void report_rows_add(struct report_rows *rows, struct report_texts *texts, unsigned run, const json_t *line, FILE *out);
/* Writes the rows that are not in a block yet. */
void report_rows_flush(struct report_rows *rows, FILE *out);
/* The time of the first row, as in the log, to which the times of all rows are relative. NULL: no row. */
const char *report_rows_get_start(const struct report_rows *rows);
uint64_t report_rows_get_count(const struct report_rows *rows);

/* ---- denials.c: groups equal denials, and finds the option that would allow them ---- */

struct report_denials;
struct report_denials *report_denials_create(void);
void report_denials_free(struct report_denials *denials);
void report_denials_add(struct report_denials *denials, struct report_texts *texts, unsigned run, const json_t *line);
/* Returns a JSON array of the groups, owned by the caller. *ret_unlisted: the number of denials in no group. */
json_t *report_denials_make_json(const struct report_denials *denials, uint64_t *ret_unlisted);

/* ---- logs.c: reads the logs ---- */

/* A run of which the report tells. */
struct report_run {
	char *id;         /* the run id of the header; owned */
	json_t *header;   /* owned */
	json_t *trailer;  /* owned; NULL: none */
	json_t *logs;     /* names of the run's logs, in order; owned */
	json_t *result;   /* value of --result for this run; owned; NULL: none */
	uint64_t records, denied, damaged, torn;
	struct verify verify; /* the state of checking the chain of the run's logs */
};

/* The state of `callgate audit report` while it writes its page. */
struct audit_report {
	FILE *out;
	struct report_texts *texts;
	struct report_rows *rows;
	struct report_denials *denials;
	struct report_run run[REPORT_RUNS_MAX];
	unsigned run_count;
	uint64_t records_max;
	/* ordinary records are those that are no denial, network event or exec: one of so many is kept */
	uint64_t ordinary_record_sample_step;
	uint64_t important_record_count;      /* number of denials, network events and execs that were kept */
};

/* A log file of a report. */
struct report_log {
	const char *path; /* in argv */
	unsigned run;     /* index into report.run */
	uint64_t first_seq; /* sequence number of the first line */
	uint64_t line_count;
};

/*
 * Finds out which run each log belongs to and how many lines it has, and sorts the logs by run and by the numbers of
 * their first lines. CLI_EXIT_OK, or CLI_EXIT_ERROR with a message.
 */
int report_survey_logs(struct audit_report *report, struct report_log *logs, size_t count);
/*
 * Adds the records of a log, and counts damaged lines. CLI_EXIT_OK, or CLI_EXIT_ERROR with a message: it cannot be
 * read.
 */
int report_read_log(struct audit_report *report, const struct report_log *log);

/* ---- page.c: the page around the data ---- */

/* Writes JSON whose texts cannot end the data block that contains it. */
void report_write_json(FILE *out, const char *text, size_t len);
void report_write_page_start(FILE *out);
void report_write_page_end(FILE *out, const json_t *about);

/* A file of page/, which embed.sh makes into an array. */
struct report_template {
	const char *name;
	const unsigned char *bytes;
	size_t len;
};
extern const struct report_template report_templates[]; /* ends with a NULL name */

#endif
