/* --input: files of the caller's, copied into the workdir before the run. */
#ifndef CALLGATE_KEEPER_INPUT_H
#define CALLGATE_KEEPER_INPUT_H

#include <stddef.h>

#include "confine/privs.h"
#include "policy/policy.h"

/* A file as it was named, and its canonical path; NULL: nothing is there that has a name. */
struct input_file {
	const char *named;
	char *path;
};

/*
 * Copies each regular file under its own name into the directory, with its permissions and times; it is opened through
 * no link. An existing name (another input's, or the workdir's) is an error, nothing is overwritten. The copies are the
 * user's when one is set. 0, or -errno with a message.
 */
int input_copy(int workdir_fd, const struct input_file *files, size_t count, const struct privs_user *user,
	       struct policy_error *ret_error);

#endif
