/* Names for mounts in granted directories of the host that lack them. attach.c uses it for each such directory. */
#ifndef CALLGATE_VIEW_ATTACH_NAMES_H
#define CALLGATE_VIEW_ATTACH_NAMES_H

#include "view/private.h"

/* A granted directory and the inner mounts whose names must exist in it. */
struct attach_missing_names {
	const struct view *view;
	const struct mount *outer; /* the granted directory, which is attached; nothing is attached in it yet */
	/* a number that no other outer mount has, for the names of its overlays' directories */
	size_t unique_number_of_outer;
	const struct mount *const *inner; /* mounts to be attached in the outer mount, and not in another inner mount */
	size_t inner_count;               /* entries of inner[] */
	int tmpfs_fd, root_fd;            /* the tmpfs of the view, and "/" of the program */
	/* the root of the outer mount; replaced by the root of the overlay, if one covers the whole outer mount */
	int *ret_outer_root_fd;
};

/*
 * Adds the names that the inner mounts lack, where that is possible: not in directories in which the program may make
 * names itself, nor in those with other mounts below. 0 or -errno.
 */
int attach_add_missing_names(const struct attach_missing_names *names);

#endif
