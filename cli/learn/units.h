/* Finds directories that are granted as a whole: of a package, an installed library, a version of an interpreter. */
#ifndef CALLGATE_CLI_LEARN_UNITS_H
#define CALLGATE_CLI_LEARN_UNITS_H

#include <limits.h>
#include <stdbool.h>

#include "cli/learn/packages.h"

/* A directory that is granted as a whole: a package's or a library's. */
struct grantable_directory {
	char dir[PATH_MAX];
	const char *package; /* name of the package; borrowed from the packages; NULL: it is a library's directory */
};

/*
 * Finds the directory that contains the path and is to be granted as a whole. home: the user's home directory, or NULL.
 * False: there is none.
 */
bool unit_find_grantable_directory(const struct packages *packages, const char *home, const char *path,
				   struct grantable_directory *ret_unit);

#endif
