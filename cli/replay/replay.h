/* Declarations shared by the source files of `callgate replay`. */
#ifndef CALLGATE_CLI_REPLAY_REPLAY_H
#define CALLGATE_CLI_REPLAY_REPLAY_H

#include "cli/load.h"
#include "replay/log.h"
#include "replay/query.h"

enum replay_change {
	REPLAY_NEWLY_DENIED,            /* allowed in the run, denied by the new policy */
	REPLAY_NEWLY_ALLOWED,           /* denied in the run, allowed by the new policy */
	REPLAY_SAME_VERDICT_OTHER_RULE, /* the same verdict by another rule */
	REPLAY_VERDICT_UNKNOWN,         /* the record does not tell enough to judge the access again */
	REPLAY_CHANGE_MAX,
};

/* ---- functions of logs.c ---- */

/* A log, and what the policy that judges the log is loaded with. */
struct replay_log {
	const char *path;
	char *policy_name; /* name of the policy that the run had; owned */
	/* the run's program, and the workdir, for both of which the policy is compiled; owned; NULL: none */
	char *program, *workdir;
	char policy_sha256[SHA256_HEX_SIZE]; /* digest of the policy that the run had; "": unknown */
	bool run_had_same_policy;  /* the run had the policy that judges: their digests are equal */
	bool lacks_read_records;  /* the run had "judge": "changes" */
	struct replay_log_state state;
};
void replay_log_release(struct replay_log *log);

typedef int replay_judge_fn(void *ctx, const struct replay_log *log, const struct query_judge *judge,
			    const struct scan_record *record, const struct query *query);

/* The kinds of logs that replay_judge_log() accepts only on request. */
struct replay_accepted_logs {
	bool damaged_logs;        /* a log that is torn, lacks records, or fails verification */
	bool logs_without_reads; /* a log of a run with "judge": "changes" */
	/* end of the message that refuses a log without reads, after "; ": what the user can do */
	const char *advice_if_refused;
};

/*
 * Reads a log and calls `judge` for each of its records, with a judge of the policy of `options`, which is loaded as
 * the run loaded it: for the program and, without -w, with the workdir on record. CLI_EXIT_OK or CLI_EXIT_ERROR with a
 * message.
 */
int replay_judge_log(const char *verb, const struct cli_policy_options *options,
		     const struct replay_accepted_logs *accepted_logs, struct replay_log *log, replay_judge_fn *judge,
		     void *ctx);

/* ---- functions of report.c ---- */

struct replay_report;
/* Creates a report. list: prints each added record as one line of JSON. NULL: no memory. */
struct replay_report *replay_report_create(bool list);
void replay_report_free(struct replay_report *report);

/* Counts a record that has the same verdict by the same rule. */
void replay_report_count_unchanged(struct replay_report *report);
/* Adds a record that changes or, with `answer` NULL, is not replayable (query->why_not_judged). 0 or -ENOMEM. */
int replay_report_add(struct replay_report *report, enum replay_change change, const struct replay_log *log,
		      const struct scan_record *record, const struct query *query, const struct query_answer *answer);
uint64_t replay_report_get_count(const struct replay_report *report, enum replay_change change);

int replay_report_print(const struct replay_report *report, const struct replay_log *logs, size_t count, bool json);

#endif
