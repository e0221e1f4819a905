/*
 * "libraries": which installed packages a program sees. The host says which paths that hides (struct policy_host); the
 * view leaves out their names.
 */
#ifndef CALLGATE_POLICY_PATHS_LIBRARIES_H
#define CALLGATE_POLICY_PATHS_LIBRARIES_H

#include <stdbool.h>
#include <stddef.h>

struct policy;

/* Languages whose installed packages a policy can choose: the keys of "libraries". */
enum policy_language {
	POLICY_PYTHON,
	POLICY_NODE,
	POLICY_LANGUAGE_MAX,
};

/* The key of a language in "libraries". Static. */
const char *policy_language_get_name(enum policy_language language);
/* Whether a text can be the name of a package: letters, digits and "._-@/", so that messages need no quoting. */
bool policy_library_name_is_valid(const char *name);

/* What "libraries" names for a language: NULL-ended, of all files together. NULL: it says nothing of this language. */
const char *const *policy_get_libraries(const struct policy *policy, enum policy_language language);

/* A path that "libraries" hides. */
struct policy_hidden_path_of_library {
	const char *path;    /* host path of a file or directory of the package */
	const char *library; /* the name for "libraries" that would show it; NULL: none would */
	/* listings have the name all the same: Python asks for a module by its path only if a listing has it */
	bool is_listed;
};

/* What "libraries" comes to on this host. Borrowed from the host. */
struct policy_library_answer {
	const struct policy_hidden_path_of_library *hidden;
	size_t hidden_count;
	const char *const *missing;      /* names that nothing installed has, NULL-ended */
	const char *const *unknown_sets; /* names of sets that do not exist, such as "@analysys", NULL-ended */
};

/* True when "libraries" hides something. */
bool policy_hides_names(const struct policy *policy);
/* True when "libraries" hides names in this directory from listings. The path is NUL-terminated. */
bool policy_hides_names_in(const struct policy *policy, const char *path);
/* True for a name that listings have although nothing exists there: that of a module that "libraries" hides. */
bool policy_lists_hidden_name(const struct policy *policy, const char *path, size_t len);

#endif
