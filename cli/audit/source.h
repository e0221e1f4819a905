/* One of the logs that logs.c merges: its files one after the other, line by line. */
#ifndef CALLGATE_CLI_AUDIT_SOURCE_H
#define CALLGATE_CLI_AUDIT_SOURCE_H

#include "cli/audit/follow.h"
#include "cli/audit/logs.h"

enum source_state {
	SOURCE_HAS_ENTRY, /* `entry` contains the next line */
	SOURCE_WAITING,   /* the log is followed, and there is no further line yet */
	SOURCE_ENDED,
};

/* One log that is being read, with the line that was read last. */
struct log_source {
	struct audit_log log;
	struct audit_reader *reader; /* owned */
	struct audit_entry entry;
	struct audit_line line;
	char *buffer; /* owned: room for a line that was converted to compact JSON */
	enum source_state state;
	bool log_is_compact;   /* records leave out what earlier records have */
	char *file_path;       /* owned: path of the file that is being read */
	long long file_number; /* number of the file, from its header */
	char *next_file;    /* owned: the path of the file in which the log goes on */
	const char *const *paths; /* of all logs */
	/* in a followed log: number of the last line for whose outcome the reader has waited, counted from 1 */
	uint64_t outcome_awaited_line_number;
	/* in a followed log: the trailer was read and is to be read once more, when it is signed */
	bool awaits_signature;
	bool last_wait_for_signature_was_begun;
	struct follow_state follow;
	uint64_t damaged_line_count;
	int error; /* -errno: reading failed */
};

/* Opens a log and reads its first line. source_close releases, in any case. */
void source_open(struct log_source *source, const struct audit_reading *reading, size_t index);

/* Reads the next line into `entry`, or sets another state. */
void source_read_next_entry(struct log_source *source);

/* In state SOURCE_WAITING: reads on, perhaps in the file that has got the log's name. */
void source_read_after_wait(struct log_source *source);

/* Reports errors and damage. Returns CLI_EXIT_OK or CLI_EXIT_ERROR. */
int source_close(struct log_source *source);

#endif
