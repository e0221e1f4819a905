/* --input: copies files and directories into the workdir before the run. */
#ifndef CALLGATE_KEEPER_INPUT_H
#define CALLGATE_KEEPER_INPUT_H

#include <stddef.h>

#include "confine/privs.h"
#include "policy/parse/errors.h"
#include "policy/policy.h"

/* A file of --input: its path as the user gave it, and its canonical path, which is NULL if there is no such file. */
struct input_file {
	const char *path_as_given; /* as in --input, for messages */
	char *path;                /* absolute path; owned */
};

/*
 * Copies each regular file, and each directory with its tree, into the workdir under its own name, with permissions and
 * times. No symbolic link is followed. A link in a tree is copied if it leads to a name in that tree. Any other link, a
 * special file, and a file whose name exists in the workdir already are errors. The copies belong to `user` if it is
 * set. to_fd: where the copies are made, the workdir or a directory beside it whose entries will be put into it. 0, or
 * -errno with a message.
 */
int input_copy_files(int workdir_fd, int to_fd, const struct input_file *files, size_t count,
		     const struct privs_user *user, struct policy_error *ret_error);

#endif
