/*
 * Reads a whole log for verbs that conclude something from it: a log with damage is an error, unless damage is allowed.
 */
#ifndef CALLGATE_REPLAY_LOG_H
#define CALLGATE_REPLAY_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "audit/scan.h"
#include "audit/verify.h"

struct replay_reader {
	const char *path;   /* of the log; borrowed */
	bool allow_damaged; /* go on reading after damage */
	/*
	 * Called first, with the header, and then for each record; all texts are borrowed until the function returns. 0
	 * or -errno, which ends reading. NULL: not wanted.
	 */
	int (*header)(void *ctx, const json_t *header);
	int (*record)(void *ctx, const struct scan_record *record);
	void *ctx;
};

struct replay_log_state {
	uint64_t record_count;
	uint64_t damage_count;       /* places; with allow_damaged also lines that were skipped */
	uint64_t first_damaged_line; /* of the first damage */
	char first_damage[VERIFY_TEXT_SIZE]; /* a description of the first damage; "": none */
};

/*
 * 0 with the state, which is set in any case; -EBADMSG: damage; -ENOMSG: no log; or another -errno: of the file, or of
 * a function of the reader.
 */
int replay_read_log(const struct replay_reader *reader, struct replay_log_state *ret_state);

#endif
