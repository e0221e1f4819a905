/* `callgate audit verify`, which has options and exit statuses of its own. */
#ifndef CALLGATE_CLI_AUDIT_VERIFY_H
#define CALLGATE_CLI_AUDIT_VERIFY_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/options.h"

/* Exit statuses. If logs differ, the lowest but 0. */
enum verify_status {
	VERIFY_STATUS_BROKEN = 1,    /* a line or a file was changed, is missing or does not belong there */
	VERIFY_STATUS_KEY = 2,       /* another key, or a wrong signature */
	VERIFY_STATUS_TRUNCATED = 3, /* an anchor proves that the end is missing */
	VERIFY_STATUS_OPEN = 4,      /* whether the end is missing cannot be told */
};

struct verify_options {
	const char *key; /* NULL: the key that the log names */
	const char *anchor; /* file with checkpoints; NULL: none */
	bool json;
};

/* Verifies logs, and prints what was found. ret_head: 65 bytes for the hash of the last line of one log; NULL: none. */
int audit_verify_logs(char **paths, size_t count, const struct verify_options *options, char *ret_head);

#endif
