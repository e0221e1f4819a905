/* Fills in what the records of a compact log leave out. */
#ifndef CALLGATE_AUDIT_EXPAND_H
#define CALLGATE_AUDIT_EXPAND_H

#include <jansson.h>
#include <stdbool.h>

/* Zero: of a log that says everything in each line. */
struct expander {
	json_t *said; /* owned: pid -> what the last record said of that process; NULL: the log is not compact */
	json_t *run;  /* owned */
};

/*
 * Takes note of a line, in the order of the log, and adds to a record what is known. True when the line may have got
 * more than its text says. Memory running out leaves it as it is.
 */
bool expand_line(struct expander *expander, json_t *line);
void expand_done(struct expander *expander);

#endif
