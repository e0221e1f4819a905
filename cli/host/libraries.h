/* Where ld.so(8) looks for libraries. */
#ifndef CALLGATE_CLI_HOST_LIBRARIES_H
#define CALLGATE_CLI_HOST_LIBRARIES_H

#include "cli/options.h"

/* Adds the directories of /etc/ld.so.conf and the default ones, in the order of ld.so(8). 0 or -ENOMEM. */
int libraries_list_directories(struct cli_list *dirs);

/*
 * Replaces "$ORIGIN" and "${ORIGIN}" in a text of DT_RPATH or DT_RUNPATH by the directory of the file that has it.
 * file: an absolute path; NULL: they stay. Owned by the caller; NULL: no memory.
 */
char *libraries_expand_origin(const char *file, const char *text, size_t len);

#endif
