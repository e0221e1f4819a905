/*
 * Finds out how a followed log continues: in another file that has got its name, or not at all because its writer has
 * ended.
 */
#ifndef CALLGATE_CLI_AUDIT_FOLLOW_H
#define CALLGATE_CLI_AUDIT_FOLLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "audit/read.h"

/* Whether a log is still being written: for reading it as it grows. */
struct follow_state {
	bool following_is_requested; /* the log is to be read until its writer ends it */
	bool has_trailer;     /* a trailer was read */
	bool writer_is_gone;  /* the writer has ended without writing a trailer */
	bool writer_lock_was_seen; /* the writer was seen to hold its lock */
	/* times of CLOCK_MONOTONIC: of the last check, and since when the lock is not held */
	uint64_t checked_ns, unlocked_ns;
};

/* True when a process holds the lock of the log's writer, which callgate does until the log is signed. */
bool follow_has_writer(int fd);

/*
 * Called when the log at `path`, open as fd, has no further line. Returns a reader, owned by the caller, of the file
 * that has got the log's name. Otherwise returns NULL; follow->writer_is_gone tells that no line will be added.
 */
struct audit_reader *follow_check_log(struct follow_state *follow, const char *path, int fd);

#endif
