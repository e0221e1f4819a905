/* Messages about bad policies. */
#ifndef CALLGATE_POLICY_PARSE_ERRORS_H
#define CALLGATE_POLICY_PARSE_ERRORS_H

#include "policy/policy.h"

/* More mistakes than this are not listed: the first ones explain the rest. */
#define POLICY_ERRORS_MAX 100

/* Adds one message; control bytes (from file names, say) become '?', so that a message stays one line. */
void policy_errors_add(struct policy_errors *errors, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
