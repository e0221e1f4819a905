/* Judges what is found in a part of what is run, as struct inspect_program says: printed, kept, or a refusal. */
#ifndef CALLGATE_CLI_INSPECT_JUDGE_H
#define CALLGATE_CLI_INSPECT_JUDGE_H

#include "cli/inspect/findings.h"
#include "cli/inspect/program.h"

/* All of these return 0 or -ENOMEM. */

/*
 * Prints what is to be warned of, and keeps the first finding that refuses the program. name: of the file, for
 * messages; dir: beside which its own modules are.
 */
int inspect_judge_findings(struct inspect_program *inspection, const char *name, const char *dir,
			   const struct inspect_findings *findings);
/* Tells of something that is not looked at. */
int inspect_tell(struct inspect_program *inspection, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Tells, once for all that follows, that there are too many of these to be looked at. */
int inspect_tell_limit(struct inspect_program *inspection, const char *what, unsigned limit);
/* Tells what a variable of the environment does to programs, "NAME=VALUE". */
int inspect_tell_assignment(struct inspect_program *inspection, const char *assignment);

#endif
