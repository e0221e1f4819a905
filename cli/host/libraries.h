/* Where ld.so(8), and the loader of musl, look for libraries. */
#ifndef CALLGATE_CLI_HOST_LIBRARIES_H
#define CALLGATE_CLI_HOST_LIBRARIES_H

#include <stdbool.h>

#include "cli/options.h"

/* Adds the directories of /etc/ld.so.conf and the default ones, in the order of ld.so(8). 0 or -ENOMEM. */
int libraries_list_directories(struct cli_list *dirs);

/* Whether a path of PT_INTERP is one of musl's loader, of whichever architecture: "/lib/ld-musl-x86_64.so.1". */
bool libraries_is_musl_loader(const char *loader);

/* Adds the directories in which such a loader looks: those of /etc/ld-musl-ARCH.path, or its own. 0 or -ENOMEM. */
int libraries_list_musl_directories(const char *loader, struct cli_list *dirs);

/* Whether musl's loader takes itself for a library of this name, wherever there is one, such as "libc.so". */
bool libraries_are_in_musl_loader(const char *name);

/*
 * Replaces "$ORIGIN" and "${ORIGIN}" in a text of DT_RPATH or DT_RUNPATH by the directory of the file that has it.
 * file: an absolute path; NULL: they stay. Owned by the caller; NULL: no memory.
 */
char *libraries_expand_origin(const char *file, const char *text, size_t len);

#endif
