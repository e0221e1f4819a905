/* For read.c: restores the fields that records of a compact log leave out. Implemented in compact.c. */
#ifndef CALLGATE_AUDIT_EXPAND_H
#define CALLGATE_AUDIT_EXPAND_H

#include <jansson.h>
#include <stdbool.h>

/* Starts zero-initialised. */
struct compact_reader {
	json_t *processes; /* pid to the process fields of its last record; owned; NULL: the log is not compact */
	json_t *run;       /* the run id, cut to AUDIT_RUN_ID_BYTES bytes; owned */
};

/* Call this for each line in order: restores what is left out, if memory allows. True: a record of a compact log. */
bool expand_compact_line(struct compact_reader *reader, json_t *line);
void expand_free_fields(struct compact_reader *reader);

#endif
