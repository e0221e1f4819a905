/*
 * Which package of the distribution each installed file belongs to: from dpkg's lists of files, or by rpm(8) where that
 * is installed. Read once, when it is first needed.
 */
#ifndef CALLGATE_CLI_LEARN_PACKAGES_H
#define CALLGATE_CLI_LEARN_PACKAGES_H

#include <limits.h>
#include <stdbool.h>

struct packages;

/* 0, also where there is no database, or -ENOMEM. dpkg_dir NULL: the system's databases; else a directory of lists. */
int packages_read(const char *dpkg_dir, struct packages **ret_packages);
void packages_free(struct packages *packages);

/*
 * The topmost directory around the path that belongs to one package alone, or to packages whose names begin with the
 * same word (texlive-base, texlive-latex). *ret_name: that package or word, borrowed. False: there is none.
 */
bool packages_find_directory(const struct packages *packages, const char *path, char ret_dir[PATH_MAX],
			     const char **ret_name);

#endif
