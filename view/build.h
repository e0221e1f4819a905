/* Building the view: view-build.c, with its grants in view-grant.c and files of a given content in view-provide.c. */
#ifndef CALLGATE_VIEW_BUILD_H
#define CALLGATE_VIEW_BUILD_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "view/private.h"

struct build {
	struct view *view;
	const struct view_options *options;
	struct policy_error *error;
};

/* Says what could not be done; returns the error. */
int view_build_fail(const struct build *build, int error, const char *what, const char *path);

/* A mount of what a rule grants; none where it cannot be reached. 0 or -errno, with a message when there is more to say. */
int view_build_grant(struct build *build, const struct policy_mount *grant);
/*
 * What is there, as it will be mounted, where that is to be done: one descriptor serves for building the view and for
 * mounting it, owned. -errno when it cannot be had; then opening it tells why, and mounting says what could not be done.
 */
int view_build_copy(const struct build *build, const char *virt, const char *host, unsigned flags, mode_t *ret_mode);
/*
 * A grant of a single file is held by its directory, so that a host that replaces the file is followed. copy_fd is taken,
 * also on failure; -1: none. 0 or -errno.
 */
int view_build_file(struct build *build, const char *virt, const char *host, int copy_fd, unsigned flags, const char *rule);
/* The directory of a path: all before its last slash, "" for the root. */
void view_build_dir_of(const char *path, char dir[PATH_MAX]);

/* A file that the policy gives the content of; index: its grant's. 0 or -errno. */
int view_build_provided(struct build *build, const struct policy_mount *grant, size_t index);
/* Whether the run brings a file of this name, whatever the policy says. */
bool view_build_is_provided(const struct build *build, const char *virt);
/* After the grants, which they stand in the place of or within. 0, or -errno with a message. */
int view_build_run_provides(struct build *build);

#endif
