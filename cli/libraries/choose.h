/* Chooses packages by name, and what they need. */
#ifndef CALLGATE_CLI_LIBRARIES_CHOOSE_H
#define CALLGATE_CLI_LIBRARIES_CHOOSE_H

#include "cli/libraries/package.h"

/*
 * Marks the packages of Python that these names (NULL-ended) mean as chosen, and all that they need. A name is that of
 * a distribution, or of a module. What is needed and not installed is ignored. Returns the names that mean no package,
 * NULL-ended, in the arena.
 */
const char **choose_python_packages(struct packages *packages, const char *const *names);

/* The same of node: a name is that of a package. */
const char **choose_node_packages(struct packages *packages, const char *const *names);

#endif
