#include "cli/libraries/find.h"

#include <errno.h>
#include <string.h>

#include "cli/libraries/choose.h"
#include "cli/libraries/dpkg.h"
#include "cli/libraries/hide.h"
#include "cli/libraries/node.h"
#include "cli/libraries/python.h"

/* Hides what is not chosen of node's packages. */
static int libraries_hide_node(struct packages *packages, const char **missing,
			       struct policy_library_answer *ret_answer)
{
	struct hidden_paths hidden = {0};

	for (size_t i = 0; i < packages->site_count; i++)
		hide_packages_of_site(packages, i, NULL, &hidden);
	*ret_answer = (struct policy_library_answer){hidden.path, hidden.count, missing};
	return hidden.is_full ? -E2BIG : 0;
}

/* Hides what is not chosen. A name that means no package may be that of a module which belongs to none. */
static int libraries_hide(struct packages *packages, const char **missing, struct policy_library_answer *ret_answer)
{
	struct hidden_paths hidden = {0};
	size_t count = 0;

	for (size_t i = 0; i < packages->site_count; i++)
		hide_packages_of_site(packages, i, missing, &hidden);
	if (hidden.is_full)
		return -E2BIG;
	for (const char **name = missing; *name; name++)
		if (!python_has_module(packages, *name))
			missing[count++] = *name;
	missing[count] = NULL;
	*ret_answer = (struct policy_library_answer){hidden.path, hidden.count, missing};
	return 0;
}

int libraries_find_hidden(struct arena *arena, const struct library_places *places, enum policy_language language,
			  const char *const *names, struct policy_library_answer *ret_answer)
{
	struct packages packages = {.arena = arena};
	jmp_buf no_memory;
	int r;

	if (setjmp(no_memory) != 0) { /* leaks what was on the heap, and descriptors; the caller gives up */
		arena->no_memory = NULL;
		return -ENOMEM;
	}
	arena->no_memory = &no_memory;
	if (language == POLICY_NODE) {
		node_add_sites(&packages, places->prefixes, places->workdir);
		node_read_packages(&packages);
		r = libraries_hide_node(&packages, choose_node_packages(&packages, names), ret_answer);
	} else {
		python_add_sites(&packages, places->prefixes, NULL);
		python_add_sites(&packages, places->installations, places->home);
		python_read_packages(&packages, DPKG_DIR);
		r = libraries_hide(&packages, choose_python_packages(&packages, names), ret_answer);
	}
	arena->no_memory = NULL;
	return r;
}
