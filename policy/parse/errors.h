/* Messages about what is wrong in a policy. Filled in while it is loaded; shown by the verbs of cli/. */
#ifndef CALLGATE_POLICY_PARSE_ERRORS_H
#define CALLGATE_POLICY_PARSE_ERRORS_H

#include <stddef.h>

/* One message: "file:line: key: what is wrong; what to do". */
struct policy_error {
	char text[1024];
};

/* All messages of one load: `callgate check` shows every error of a file, not just the first. */
struct policy_errors {
	struct policy_error *item; /* owned */
	size_t count;
};
/*
 * Adds one message, cut to its buffer. Control bytes become '?', so that a message stays one line. Only the first
 * hundred messages are kept: later errors mostly follow from earlier ones.
 */
void policy_errors_add(struct policy_errors *errors, const char *format, ...) __attribute__((format(printf, 2, 3)));
void policy_errors_release(struct policy_errors *errors);

#endif
