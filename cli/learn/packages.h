/*
 * Finds the package of the distribution to which an installed file belongs: by dpkg's lists of files, or by rpm(8). The
 * databases are read once, when they are first needed.
 */
#ifndef CALLGATE_CLI_LEARN_PACKAGES_H
#define CALLGATE_CLI_LEARN_PACKAGES_H

#include <limits.h>
#include <stdbool.h>

struct packages;

/* Where the package databases are. rpm(8) is run only if its database exists, because it would create one. */
struct packages_source {
	const char *dpkg_lists; /* directory of dpkg's lists of files; NULL: none */
	const char *rpm;        /* path of the program rpm; NULL: none */
	const char *rpm_database;
};

/*
 * Reads the package databases; without any, *ret_packages is empty. source NULL: the system's databases. 0 or -ENOMEM.
 */
int packages_read_file_owners(const struct packages_source *source, struct packages **ret_packages);
void packages_free(struct packages *packages);

/*
 * The topmost directory around the path that belongs to one package alone, or to packages whose names begin with the
 * same word (texlive-base, texlive-latex). *ret_name: that package or word, borrowed. False: there is none.
 */
bool packages_find_directory(const struct packages *packages, const char *path, char ret_dir[PATH_MAX],
			     const char **ret_name);

#endif
