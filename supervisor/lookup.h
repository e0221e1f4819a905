/* Finds the file of a program's name inside the run. */
#ifndef CALLGATE_SUPERVISOR_LOOKUP_H
#define CALLGATE_SUPERVISOR_LOOKUP_H

#include <limits.h>

#include "policy/policy.h"
#include "view/view.h"

enum lookup_result {
	LOOKUP_FOUND,   /* executable and granted */
	LOOKUP_REFUSED, /* exists in the view or on the host, but is not granted or not executable */
	LOOKUP_MISSING,
};

struct lookup_options {
	const struct policy *policy;
	const struct view *view;
	const char *name;      /* as on the command line */
	const char *path_env;  /* PATH the program will have; NULL: none */
	const char *preferred; /* the program behind a version manager's shim of that name, or NULL */
};

/*
 * A name with a slash is relative to the virtual workdir; any other is searched in PATH as by execvp(3), in the view.
 * ret_path gets the virtual path that was found, else that of the first refused candidate, else the name. A refused
 * path should be executed all the same, so that the refusal is judged and recorded.
 */
enum lookup_result lookup_program(const struct lookup_options *options, char ret_path[PATH_MAX]);

#endif
