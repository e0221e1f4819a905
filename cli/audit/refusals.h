/* Groups denials by what was refused, and finds what would allow each group. */
#ifndef CALLGATE_CLI_AUDIT_REFUSALS_H
#define CALLGATE_CLI_AUDIT_REFUSALS_H

#include <jansson.h>

#include "audit/scan.h"
#include "cli/audit/tally.h"

/* Zero-initialise; refusals_release releases. */
struct refusals {
	struct tally groups; /* each item's data is a struct refusal_group; counts[0]: number of its denials */
};

/* Equal denials of a log, which are shown as one. */
struct refusal_group {
	const char *access_kind; /* read, write, exec, net, listen or other; static */
	char *target_text;       /* what was refused; all texts here are owned and safe for a terminal; NULL: none */
	char *reason, *rule;
	char *suggested_option; /* an option of callgate run that would allow it */
	const char *why_no_suggestion; /* why no option is suggested; static; NULL: not known */
};

/* Adds the record of a denial. 0 or -ENOMEM. */
int refusals_add(struct refusals *refusals, const struct scan_record *record);

/* The groups as a JSON array, the most frequent first. Owned by the caller; NULL: no memory. */
json_t *refusals_make_json(const struct refusals *refusals);
void refusals_release(struct refusals *refusals);

#endif
