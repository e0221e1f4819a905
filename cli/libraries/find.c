#include "cli/libraries/find.h"

#include <errno.h>
#include <string.h>

#include "cli/libraries/dpkg.h"
#include "cli/libraries/hide.h"
#include "cli/libraries/node.h"
#include "cli/libraries/python.h"
#include "cli/libraries/sets.h"

/* As libraries_find. The arena jumps away when memory runs out. */
static void libraries_read(struct arena *arena, const struct library_places *places, enum policy_language language,
			   const char *const *names, struct library_finding *finding)
{
	struct packages *packages = &finding->packages;

	*finding = (struct library_finding){.packages = {.arena = arena}};
	if (language == POLICY_NODE) {
		node_add_sites(packages, places->prefixes, places->workdir);
		node_read_packages(packages);
	} else {
		python_add_sites(packages, places->prefixes, NULL);
		python_add_sites(packages, places->installations, places->home);
		python_read_packages(packages, DPKG_DIR);
	}
	sets_expand(arena, places->sets, language, names ? names : sets_list(arena, places->sets, language),
		    &finding->choices, &finding->unknown_sets);
	choose_packages(packages, language, &finding->choices);
}

int libraries_find(struct arena *arena, const struct library_places *places, enum policy_language language,
		   const char *const *names, struct library_finding *ret_finding)
{
	jmp_buf no_memory;

	if (setjmp(no_memory) != 0) { /* leaks what was on the heap, and descriptors; the caller gives up */
		arena->no_memory = NULL;
		return -ENOMEM;
	}
	arena->no_memory = &no_memory;
	libraries_read(arena, places, language, names, ret_finding);
	arena->no_memory = NULL;
	return 0;
}

/* The names that were not found. With `named` only those that were named themselves, not members of a set. */
static const char **libraries_list_missing(const struct library_finding *finding, bool named)
{
	struct arena *arena = finding->packages.arena;
	const char **missing = NULL;
	size_t count = 0;

	for (size_t i = 0; i < finding->choices.count; i++) {
		const struct library_choice *choice = &finding->choices.choice[i];

		if (choice->is_missing && !(named && choice->set))
			ARENA_APPEND(arena, missing, count, choice->name);
	}
	ARENA_APPEND(arena, missing, count, NULL);
	return missing;
}

/* Hides what is not chosen. A name that means no package may be that of a module of Python which belongs to none. */
static int libraries_hide(const struct library_finding *finding, enum policy_language language,
			  struct policy_library_answer *ret_answer)
{
	struct packages packages = finding->packages;
	const char **kept = language == POLICY_PYTHON ? libraries_list_missing(finding, false) : NULL;
	const char **missing = libraries_list_missing(finding, true);
	struct hidden_paths hidden = {0};
	size_t count = 0;

	for (size_t i = 0; i < packages.site_count; i++)
		hide_packages_of_site(&packages, i, kept, &hidden);
	if (hidden.is_full)
		return -E2BIG;
	for (const char **name = missing; *name; name++)
		if (language != POLICY_PYTHON || !python_has_module(&packages, *name))
			missing[count++] = *name;
	missing[count] = NULL;
	*ret_answer = (struct policy_library_answer){hidden.path, hidden.count, missing, finding->unknown_sets};
	return 0;
}

int libraries_find_hidden(struct arena *arena, const struct library_places *places, enum policy_language language,
			  const char *const *names, struct policy_library_answer *ret_answer)
{
	struct library_finding finding;
	jmp_buf no_memory;
	int r;

	if (setjmp(no_memory) != 0) { /* as in libraries_find */
		arena->no_memory = NULL;
		return -ENOMEM;
	}
	arena->no_memory = &no_memory;
	libraries_read(arena, places, language, names, &finding);
	r = libraries_hide(&finding, language, ret_answer);
	arena->no_memory = NULL;
	return r;
}
