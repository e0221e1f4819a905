/*
 * Which files an inspection has looked at: by all names, to tell which are other ones later; and in which state, so
 * that none is looked at twice.
 */
#ifndef CALLGATE_CLI_INSPECT_VISITS_H
#define CALLGATE_CLI_INSPECT_VISITS_H

#include <sys/stat.h>

#include "cli/inspect/program.h"

/*
 * Keeps by which name a file is found, before it is read. path: NULL: there is none of this name. found: the name for
 * find_file; NULL: it has none, and cannot change. 0 or -errno.
 */
int inspect_visits_keep_seen(struct inspect_program *inspection, const char *name, const char *path, const char *found);

/*
 * Whether a file was looked at before, as the same and in the same state: scripts may start one another in a circle.
 * Then the state at its end is added to the commands. 1: it was; 0: not, but is the last on the list now; or -ENOMEM.
 */
int inspect_visits_find(struct inspect_program *inspection, const struct stat *status, enum inspect_type type);

#endif
