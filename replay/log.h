/*
 * Reads a whole log for verbs that conclude something from it: a log with damage is an error, unless damage is allowed.
 */
#ifndef CALLGATE_REPLAY_LOG_H
#define CALLGATE_REPLAY_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "audit/scan.h"
#include "audit/verify.h"

/* What reading a log calls for its header and each record. */
struct replay_reader {
	const char *path;   /* path of the log; borrowed */
	bool allows_damage; /* go on reading after damage */
	/*
	 * `header` is called once at first, then `record` for each record. Texts are borrowed until the function
	 * returns. Return 0, or -errno to end reading. NULL: not called.
	 */
	int (*header)(void *ctx, const json_t *header);
	int (*record)(void *ctx, const struct scan_record *record);
	void *ctx;
};

/* How much of a log was read and how much of it is damaged. */
struct replay_log_state {
	uint64_t record_count;
	uint64_t damage_count;       /* number of damaged places; with allows_damage also of skipped lines */
	uint64_t first_damaged_line; /* line number of the first damage */
	char first_damage[VERIFY_FINDING_TEXT_SIZE]; /* a description of the first damage; "": none */
};

/*
 * Reads a log, and sets *ret_state in any case. Returns 0; -EBADMSG: the log is damaged; -ENOMSG: the file is no log;
 * another -errno: the file cannot be read, or a function of `reader` returned that error.
 */
int replay_read_log(const struct replay_reader *reader, struct replay_log_state *ret_state);

#endif
