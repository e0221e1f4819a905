/* Answers what "libraries" of a policy asks: which paths are to be hidden. Called while a policy is loaded. */
#ifndef CALLGATE_CLI_LIBRARIES_FIND_H
#define CALLGATE_CLI_LIBRARIES_FIND_H

#include "policy/arena.h"
#include "policy/policy.h"

/* Where packages are looked for. Borrows. */
struct library_places {
	const char *const *installations; /* what @interpreter stands for, NULL-ended; NULL: nothing */
	const char *const *prefixes;      /* of interpreters, the same */
	const char *home;                 /* the user's home directory; NULL: unknown */
	const char *workdir;              /* host path of the working directory; NULL: none */
};

/*
 * As policy_host.libraries. The answer is in the arena. 0, -ENOMEM, or -E2BIG: too many paths would be hidden.
 */
int libraries_find_hidden(struct arena *arena, const struct library_places *places, enum policy_language language,
			  const char *const *names, struct policy_library_answer *ret_answer);

#endif
