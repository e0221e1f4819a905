/*
 * Installed packages, for "libraries" of a policy and for callgate libraries. What is read of them is text that an
 * attacker may have written: a name in it only ever hides or shows what lies in the directory of the packages.
 * Everything is allocated in one arena, which jumps away when memory runs out.
 */
#ifndef CALLGATE_CLI_LIBRARIES_PACKAGE_H
#define CALLGATE_CLI_LIBRARIES_PACKAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "policy/arena.h"

#define PACKAGES_MAX 20000u        /* packages that are read */
#define PACKAGE_FILES_MAX 2000000u /* names of files, of all packages together */
#define PACKAGE_NEEDS_MAX 2000u    /* packages that one needs; each new one is compared with all before */
#define PACKAGES_NEEDS_MAX 200000u /* the same, of all packages together */

struct library_choice;

/* A directory in which packages are installed: site-packages, dist-packages, node_modules. */
struct package_site {
	const char *path;    /* canonical */
	const char *version; /* "3.11": the only version of Python that uses it; NULL: unknown */
};

struct package {
	const char *name, *version; /* as the metadata has them; the version may be NULL */
	const char *key;            /* the name, normalised: names with one key are one package */
	size_t site;                /* index of the site */
	const char *own_name;       /* name in the site of the metadata (Python) or of the package's directory (node) */
	const char *source;         /* what the list of files comes from: "RECORD", "dpkg", "top_level.txt" … */
	const char *debian_package; /* that has installed it; NULL: none, or unknown */
	const char **file;          /* paths below the site */
	size_t file_count;
	const char **need; /* keys of the packages that it needs */
	size_t need_count;
	bool is_chosen;
	const struct library_choice *chosen_by; /* the choice that means it; NULL: another package needs it */
	const struct package *needed_by; /* the first package found that needs it; NULL: chosen_by has chosen it */
};

/* The packages of one language. */
struct packages {
	struct arena *arena;
	struct package_site *site;
	size_t site_count;
	struct package *package;
	size_t package_count;
	size_t file_count; /* of all packages together */
	size_t need_count; /* of all packages together */
	size_t nested_count; /* of node: directories of packages in packages */
	const struct package **by_key; /* all packages, sorted by key; those of one key in their order: choose.c */
};

/* Adds a site, unless it is there already; `path` need not be canonical or exist. */
void packages_add_site(struct packages *packages, const char *path, const char *version);

/* Adds a path below the site to the package's files. One that leaves the site, or is none, is ignored. */
void package_add_file(struct packages *packages, struct package *package, const char *path, size_t len);
/* Adds the key of a package that another one needs, unless it has too many. */
void package_add_need(struct packages *packages, struct package *package, const char *key);

/* Adds a package to the list and returns it; NULL: there are too many. */
struct package *packages_add(struct packages *packages, size_t site, const char *own_name);

#endif
