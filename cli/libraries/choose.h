/* Chooses packages by name, and what they need. */
#ifndef CALLGATE_CLI_LIBRARIES_CHOOSE_H
#define CALLGATE_CLI_LIBRARIES_CHOOSE_H

#include "cli/libraries/package.h"
#include "policy/paths/libraries.h"
#include "policy/policy.h"

/* A name that a policy or a user has chosen. */
struct library_choice {
	const char *name;
	const char *set; /* the set of which it is a member, "@analysis"; NULL: it was named itself */
	bool is_missing; /* it means no package that is installed */
};

struct library_choices {
	struct library_choice *choice;
	size_t count;
};

/*
 * Marks the packages that the choices mean as chosen, and all that they need, and sets is_missing. Of Python, a name is
 * that of a distribution, or of a module; of node, that of a package. What is needed and not installed is ignored. The
 * packages borrow from the choices.
 */
void choose_packages(struct packages *packages, enum policy_language language, struct library_choices *choices);

/* The first package with this key, which another needs. NULL: there is none. */
const struct package *choose_find_needed(const struct packages *packages, const char *key);

#endif
