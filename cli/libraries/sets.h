/* The built-in sets of packages: "@analysis". They are data, in policy/profiles/libraries/sets.json. */
#ifndef CALLGATE_CLI_LIBRARIES_SETS_H
#define CALLGATE_CLI_LIBRARIES_SETS_H

#include "cli/libraries/choose.h"

#define SETS_PROFILE "libraries/sets" /* name of the file of the sets among the profiles, without its suffix */

/*
 * Whether a name is that of a set: "@" and no "/". No package can be called so: Python's names have no "@", and a name
 * of node with "@" is that of a scope, with a "/" behind it.
 */
bool sets_is_name(const char *name);

/*
 * Replaces names of sets (NULL-ended list) by their members. text: the file of the sets; NULL: there are none.
 * *ret_unknown: the names that look like a set's and are none, NULL-ended. Everything is in the arena, which jumps away
 * when memory runs out.
 */
void sets_expand(struct arena *arena, const char *text, enum policy_language language, const char *const *names,
		 struct library_choices *ret_choices, const char *const **ret_unknown);

/* The names of all sets of a language, NULL-ended, in the arena. */
const char **sets_list(struct arena *arena, const char *text, enum policy_language language);

#endif
