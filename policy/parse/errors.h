/* The list of messages about one load. The caller of policy_load owns the list. */
#ifndef CALLGATE_POLICY_PARSE_ERRORS_H
#define CALLGATE_POLICY_PARSE_ERRORS_H

#include "policy/policy.h"

/* Further errors are dropped: mostly they follow from the first ones. */
#define POLICY_ERRORS_MAX 100

/* Adds one message, cut to its buffer. Control bytes become '?', so that a message stays one line. */
void policy_errors_add(struct policy_errors *errors, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
