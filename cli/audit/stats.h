/* Declarations shared by the source files of `callgate audit stats`. */
#ifndef CALLGATE_CLI_AUDIT_STATS_H
#define CALLGATE_CLI_AUDIT_STATS_H

#include "cli/audit/audit.h"
#include "cli/audit/refusals.h"
#include "cli/audit/histogram.h"
#include "cli/audit/rules.h"

enum stats_table { STATS_SYSCALL, STATS_EVENT, STATS_HOST, STATS_VERDICT, STATS_REASON, STATS_EXE, STATS_MAX };

/* A log that is counted. */
struct stats_log {
	const char *path;
	json_t *header, *trailer; /* owned, or NULL */
};

/* The state of `callgate audit stats`. */
struct stats {
	struct audit_filter filter;
	struct cli_policy_options policy_options;
	bool json;
	/* tallies of the tables; for calls and events, item data is a struct histogram */
	struct tally tables[STATS_MAX];
	struct histogram latency; /* durations of all system calls */
	struct refusals denials;
	struct rule_usage rules;
	struct stats_log *log; /* array with an element for each log; owned */
	size_t log_count;
	uint64_t records, denied, unfinished;
	bool is_out_of_memory;
};

/* Indices of tally_item.counts[] in the tables. */
enum { STATS_COUNT = 0, STATS_DENIED = 1, HOST_CONNECTIONS = 0, HOST_DENIED = 1, HOST_REQUESTS = 2, HOST_UP = 3,
       HOST_DOWN = 4 };

/* Print the statistics. */
void stats_print(const struct stats *stats);
void stats_print_json(const struct stats *stats);

#endif
