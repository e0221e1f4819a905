/* Finds a program's file by its name, inside the run, as execvp(3) does. */
#ifndef CALLGATE_SUPERVISOR_LOOKUP_H
#define CALLGATE_SUPERVISOR_LOOKUP_H

#include <limits.h>

#include "policy/policy.h"
#include "view/view.h"

enum lookup_result {
	LOOKUP_FOUND,   /* executable and granted */
	LOOKUP_REFUSED, /* exists in the view or on the host, but is not granted or not executable */
	LOOKUP_MISSING, /* no directory of PATH has the name */
	LOOKUP_FAILED,  /* it is not known, because of `error` */
};

/* A search for the program's file along PATH, and its result. */
struct lookup {
	const struct view *view;
	const struct policy *policy;
	const char *wanted_name; /* as the user gave it: a name, or a path with a slash */
	const char *path_env; /* PATH of the program's environment; NULL: unset */
	/* the program that a version manager's shim of that name would start, or NULL */
	const char *version_manager_program;
	char found_path[PATH_MAX]; /* the path that was found, else the first refused one */
	int error;                 /* -errno of a search that failed, such as -EMFILE */
};

/*
 * Sets lookup->found_path. A refused program is to be started all the same, so that its exec is judged and recorded.
 */
enum lookup_result lookup_find_program(struct lookup *lookup);

#endif
