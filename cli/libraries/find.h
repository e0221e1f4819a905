/* Finds the packages that names mean, and what "libraries" of a policy hides. */
#ifndef CALLGATE_CLI_LIBRARIES_FIND_H
#define CALLGATE_CLI_LIBRARIES_FIND_H

#include "cli/libraries/choose.h"
#include "policy/arena.h"
#include "policy/policy.h"

/* Where packages are looked for. Borrows. */
struct library_places {
	const char *const *installations; /* what @interpreter stands for, NULL-ended; NULL: nothing */
	const char *const *prefixes;      /* of interpreters, the same */
	const char *home;                 /* the user's home directory; NULL: unknown */
	const char *workdir;              /* host path of the working directory; NULL: none */
	const char *sets;                 /* text of the file of the sets; NULL: there is none */
};

/* The installed packages of a language, and which of them were chosen. In the arena. */
struct library_finding {
	struct packages packages;
	struct library_choices choices;
	const char *const *unknown_sets; /* names of no set, NULL-ended */
};

/* Finds the packages, and chooses those that the names (NULL-ended) mean. names NULL: all sets. 0 or -ENOMEM. */
int libraries_find(struct arena *arena, const struct library_places *places, enum policy_language language,
		   const char *const *names, struct library_finding *ret_finding);

/*
 * As policy_host.libraries. The answer is in the arena. 0, -ENOMEM, or -E2BIG: too many paths would be hidden.
 */
int libraries_find_hidden(struct arena *arena, const struct library_places *places, enum policy_language language,
			  const char *const *names, struct policy_library_answer *ret_answer);

#endif
