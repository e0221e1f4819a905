/* Tells how a log that is being followed goes on: another file has got its name, or its writer has gone. */
#ifndef CALLGATE_CLI_AUDIT_FOLLOW_H
#define CALLGATE_CLI_AUDIT_FOLLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "audit/read.h"

struct follow {
	bool wanted;
	bool has_trailer;     /* a trailer was read */
	bool writer_is_gone; /* the writer has gone without a trailer */
	bool locked;    /* the writer's lock was seen */
	uint64_t checked_ns, unlocked_ns; /* CLOCK_MONOTONIC: of the last check; since when the lock has been missing */
};

/*
 * Called when the log at `path`, open as fd, has no further line. Returns a reader, owned by the caller, of the file
 * that has taken the log's place; else NULL, and follow->abandoned tells that nothing more will come.
 */
struct audit_reader *follow_check_log(struct follow *follow, const char *path, int fd);

#endif
