/*
 * Which package of the distribution each installed file belongs to: from dpkg's lists of files, or by rpm(8) where that
 * is installed. Read once, when it is first needed.
 */
#ifndef CALLGATE_CLI_LEARN_PACKAGES_H
#define CALLGATE_CLI_LEARN_PACKAGES_H

#include <limits.h>
#include <stdbool.h>

struct packages;

/* Where the databases are. rpm is run only where its database is: rpm(8) makes one where there is none. */
struct packages_source {
	const char *dpkg_lists; /* directory of the lists of files; NULL: none */
	const char *rpm;        /* the program; NULL: none */
	const char *rpm_database;
};

/* 0, also where there is no database, or -ENOMEM. source NULL: the system's databases. */
int packages_read(const struct packages_source *source, struct packages **ret_packages);
void packages_free(struct packages *packages);

/*
 * The topmost directory around the path that belongs to one package alone, or to packages whose names begin with the
 * same word (texlive-base, texlive-latex). *ret_name: that package or word, borrowed. False: there is none.
 */
bool packages_find_directory(const struct packages *packages, const char *path, char ret_dir[PATH_MAX],
			     const char **ret_name);

#endif
