/* compact.c: fills in the fields that records of a compact log leave out, for read.c. */
#ifndef CALLGATE_AUDIT_EXPAND_H
#define CALLGATE_AUDIT_EXPAND_H

#include <jansson.h>
#include <stdbool.h>

/* Zero-initialise. */
struct expander {
	json_t *processes; /* owned: pid to the process fields of its last record; NULL: the log is not compact */
	json_t *run;       /* owned */
};

/* For each line in order: adds what a compact log left out, if memory allows. True: a record of such a log. */
bool expand_line(struct expander *expander, json_t *line);
void expand_free_fields(struct expander *expander);

#endif
