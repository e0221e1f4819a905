/* callgate inspect: looks at programs without running them. It is never the boundary: the sandbox is. */
#ifndef CALLGATE_CLI_INSPECT_INSPECT_H
#define CALLGATE_CLI_INSPECT_INSPECT_H

#include <stdbool.h>

#include "cli/inspect/findings.h"
#include "cli/inspect/subject.h"

/*
 * Looks at a file. type: what to take it for; INSPECT_TYPE_MAX: what it is. allowed: what may be imported, as
 * inspect_take_output(). ret_type: what it was taken for. 0, or -errno with a message printed.
 */
int inspect_look_at_file(const char *path, enum inspect_type type, const struct cli_list *allowed,
			 struct inspect_findings *findings, enum inspect_type *ret_type);

/* Prints findings from a level on: "FILE:LINE: KIND: WHAT", a line each. 0 or -errno. */
int inspect_print_text(const char *path, const struct inspect_findings *findings, enum inspect_level least);

/* A finding as a JSON object: line, kind, level, what. Owned; NULL: no memory. */
json_t *inspect_make_finding_json(const struct inspect_finding *finding);

/* The findings of a file, from a level on, as the JSON object that the man page describes. Owned; NULL: no memory. */
json_t *inspect_make_json(const char *path, enum inspect_type type, const struct inspect_findings *findings,
			  enum inspect_level least);

#endif
