/* Counts how often each rule decided, and finds the rules of a policy that never decided. */
#ifndef CALLGATE_CLI_AUDIT_RULES_H
#define CALLGATE_CLI_AUDIT_RULES_H

#include <jansson.h>

#include "audit/scan.h"
#include "cli/audit/tally.h"
#include "cli/load.h"

/* Zero-initialise; rule_usage_release releases. */
struct rule_usage {
	/* tally of rules by their labels, which are safe for a terminal; count[0]: how often the rule decided */
	struct tally rule_uses;
	json_t *unused_labels;      /* labels of the policy's unused rules; NULL: no policy was named; owned */
	bool logs_have_same_policy; /* all logs are of runs under this policy */
};

/* 0 or -ENOMEM. */
int rule_usage_count_record(struct rule_usage *rules, const struct scan_record *record);

/*
 * Lists the rules of the user's policy that no record names. Does nothing if the user named no policy. `header` is the
 * header of a log. CLI_EXIT_OK, or CLI_EXIT_ERROR with a message.
 */
int rule_usage_find_unused_rules(struct rule_usage *rules, const struct cli_policy_options *given,
				 const json_t *header);
void rule_usage_release(struct rule_usage *rules);

#endif
