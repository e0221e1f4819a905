/* What the supervisor tells the keeper, as JSON: parts of the result, ready to be merged. */
#ifndef CALLGATE_SUPERVISOR_REPORT_H
#define CALLGATE_SUPERVISOR_REPORT_H

#include <jansson.h>

#include "supervisor/supervise.h"
#include "view/view.h"

/*
 * {"wait_status", "usage", "calls", "denials", "denials_unlisted", "redirects", "network", "network_unlisted",
 * "network_advice", "network_budgets", "changes"} of a finished run, and "network_denied", how much egress refused.
 * Owned by the caller; NULL when memory ran out.
 */
json_t *report_json(const struct supervise_report *report, const struct view *view);

/*
 * Bytes that need not be UTF-8 as a JSON string, lossless as in the audit log (base/text.h); null for NULL. Owned by
 * the caller.
 */
json_t *report_text(const char *bytes);

#endif
