/* Finds directories node_modules, and reads what is in them. */
#ifndef CALLGATE_CLI_LIBRARIES_NODE_H
#define CALLGATE_CLI_LIBRARIES_NODE_H

#include "cli/libraries/package.h"

/*
 * Adds node_modules of the workdir and of the directories above it, those of the installations (NULL-ended: prefixes,
 * or directories of packages), and those of the system. workdir: NULL: none.
 */
void node_add_sites(struct packages *packages, const char *const *installations, const char *workdir);

/*
 * Reads the packages of all sites, and of the stores in them, such as pnpm's. A package also has what lies in its own
 * node_modules.
 */
void node_read_packages(struct packages *packages);

#endif
