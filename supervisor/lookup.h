/* Which file a program's name means inside the run. */
#ifndef CALLGATE_SUPERVISOR_LOOKUP_H
#define CALLGATE_SUPERVISOR_LOOKUP_H

#include <limits.h>

#include "policy/policy.h"
#include "view/view.h"

enum lookup_result {
	LOOKUP_FOUND,   /* there, executable and granted */
	LOOKUP_REFUSED, /* there (in the view or on the host) but not granted or not executable */
	LOOKUP_MISSING,
};

struct lookup_options {
	const struct policy *policy;
	const struct view *view;
	const char *name;      /* as on the command line */
	const char *path_env;  /* PATH the program will have; NULL: none */
	const char *preferred; /* what a version manager's shim of that name starts, or NULL */
};

/*
 * A name with a slash is taken as it is (from the virtual workdir); another is searched as execvp(3) does, in the view.
 * ret_path gets the virtual path to exec, of the first refused candidate when none is found, and the name when there is
 * none at all. A refused path is to be tried all the same, so that the refusal is judged and on record.
 */
enum lookup_result lookup_program(const struct lookup_options *options, char ret_path[PATH_MAX]);

#endif
