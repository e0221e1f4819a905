/* Finds where Python's packages are installed, and reads what they are. */
#ifndef CALLGATE_CLI_LIBRARIES_PYTHON_H
#define CALLGATE_CLI_LIBRARIES_PYTHON_H

#include "cli/libraries/package.h"

/*
 * Adds the sites of the installations: paths that @interpreter stands for (NULL-ended), such as a virtual environment
 * or /usr/lib/python3; those of the system; and the user's own in ~/.local. home: NULL: unknown.
 */
void python_add_sites(struct packages *packages, const char *const *installations, const char *home);

/* Reads the packages of all sites. dpkg_dir: DPKG_DIR; another in tests. */
void python_read_packages(struct packages *packages, const char *dpkg_dir);

/* Whether a site has a module of this name, whether or not it belongs to a package. */
bool python_has_module(const struct packages *packages, const char *name);

/* The name of a module: that of its file or directory up to the first ".". Its length. */
size_t python_get_module_len(const char *name);

#endif
