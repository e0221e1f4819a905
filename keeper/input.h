/* --input: copies files and directories into the workdir before the run. */
#ifndef CALLGATE_KEEPER_INPUT_H
#define CALLGATE_KEEPER_INPUT_H

#include <stddef.h>

#include "confine/privs.h"
#include "policy/policy.h"

/* A file as the user named it, and its canonical path; NULL: no such file. */
struct input_file {
	const char *named;
	char *path;
};

/*
 * Copies each regular file, and each directory with its tree, into the directory under its own name, with permissions
 * and times. No link is followed; one in a tree is copied if it leads to a name in that tree, and an error otherwise,
 * like any special file. An existing file of that name is an error. The copies belong to `user` when set. 0, or -errno
 * with a message.
 */
int input_copy_files(int workdir_fd, const struct input_file *files, size_t count, const struct privs_user *user,
	       struct policy_error *ret_error);

#endif
