/* Directories that are one thing: a package's, an installed library, a version of an interpreter. */
#ifndef CALLGATE_CLI_LEARN_UNITS_H
#define CALLGATE_CLI_LEARN_UNITS_H

#include <limits.h>
#include <stdbool.h>

#include "cli/learn/packages.h"

struct unit {
	char dir[PATH_MAX];
	const char *package; /* borrowed from the packages; NULL: a library directory */
};

/* The unit that the path lies in. home: of the user, or NULL. False: in none. */
bool unit_find(const struct packages *packages, const char *home, const char *path, struct unit *ret_unit);

#endif
