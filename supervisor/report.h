/* Makes the supervisor's part of the result as JSON. The keeper completes the result. */
#ifndef CALLGATE_SUPERVISOR_REPORT_H
#define CALLGATE_SUPERVISOR_REPORT_H

#include <jansson.h>

#include "supervisor/supervise.h"
#include "view/view.h"

#define REPORT_NOT_STARTED \
	"not_started" /* member that is true when the keeper ended the run before its program started */
#define REPORT_ENDED_BY_ANSWER "answer" /* likewise, if the answer "stop" to a question did */
#define REPORT_ENDED_BY_DECOY "decoy" /* value of "ended_by" if a decoy, and not a limit, ended the run */

/*
 * {"wait_status", "usage", "calls", "denials", "denials_unlisted", "redirects", "network", "network_unlisted",
 * "network_advice", "network_budgets", "decoys", "after_read", "changes"} of a finished run, and "network_denied", the
 * number of refusals by egress. Owned by the caller; NULL when memory ran out.
 */
json_t *report_make_json(const struct supervise_report *report, const struct view *view,
			 const struct policy *policy);

struct denials;

/* The denials as in "denials" of the result. *ret_unlisted: attempts that are not in the list. Owned by the caller. */
json_t *report_make_denials(const struct denials *denials, uint64_t *ret_unlisted);

/* Bytes as a JSON string, escaped losslessly as in the audit log (base/text.h); null for NULL. Owned. */
json_t *report_make_text_json(const char *bytes);

#endif
