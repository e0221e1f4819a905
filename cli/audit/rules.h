/* Counts how often each rule decided, and finds the rules of a policy that never did. */
#ifndef CALLGATE_CLI_AUDIT_RULES_H
#define CALLGATE_CLI_AUDIT_RULES_H

#include <jansson.h>

#include "audit/scan.h"
#include "cli/audit/tally.h"
#include "cli/load.h"

/* Zero-initialise; rules_release releases. */
struct rules {
	struct tally used; /* by label, safe for a terminal; count[0]: how often */
	json_t *unused;    /* labels of the policy's other rules; NULL: no policy was named; owned */
	bool same_policy;  /* all logs are of runs under this policy */
};

/* 0 or -ENOMEM. */
int rules_count(struct rules *rules, const struct scan_record *record);

/*
 * Lists the rules of the named policy that no record has, if the user named one; `header` is a log's. CLI_OK, or
 * CLI_ERROR with a message.
 */
int rules_find_unused(struct rules *rules, const struct cli_policy_options *given, const json_t *header);
void rules_release(struct rules *rules);

#endif
