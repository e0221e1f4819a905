/* Finds the paths that have to be hidden, so that only the chosen packages of a site exist. */
#ifndef CALLGATE_CLI_LIBRARIES_HIDE_H
#define CALLGATE_CLI_LIBRARIES_HIDE_H

#include "cli/libraries/package.h"
#include "policy/paths/libraries.h"
#include "policy/policy.h"

#define HIDDEN_PATHS_MAX 20000u

struct hidden_paths {
	struct policy_hidden_path_of_library *path;
	size_t count;
	bool is_full; /* there are more than HIDDEN_PATHS_MAX */
};

/*
 * Adds what is to be hidden in a site: files of packages that are not chosen, unless a chosen one has them, too, and
 * entries that belong to no package. A directory of chosen and other packages is looked into. `kept`: names of such
 * entries (modules of Python) that stay, NULL-ended; NULL: all of them stay, and listings have no hidden name (node). A
 * hidden path's library is the name of its package or, without one, of its module.
 */
void hide_packages_of_site(struct packages *packages, size_t site, const char *const *kept,
			   struct hidden_paths *hidden);

#endif
