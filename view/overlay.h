/*
 * Mounts whose writes go to the scratch directory, by overlayfs; for create/. The lower layer of an overlay must have
 * no mount below it: in a user namespace the kernel refuses that, and elsewhere the overlay would hide it.
 */
#ifndef CALLGATE_VIEW_OVERLAY_H
#define CALLGATE_VIEW_OVERLAY_H

#include <stdbool.h>
#include <stddef.h>

#include "view/prepare.h"

#define OVERLAYS_WRITTEN_DIRS 4 /* workdir, home, TMPDIR and /var/tmp */

#define OVERLAY_LAYER_NAME "upper" /* directory of a layer that has the entries of the overlay */

/* The overlays of a view, and the directory that has their upper layers. */
struct overlays {
	int dir_fd;    /* directory that has the upper layers; -1: not made yet */
	bool is_on_tmpfs; /* dir_fd is the root of a tmpfs */
	size_t count, made;
	/*
	 * path of a directory for the upper layers that outlives the run, so that no tmpfs may take its place; NULL:
	 * the upper layers are in the scratch directory
	 */
	const char *kept_dir;
	int acls_fd; /* of struct view_options; borrowed */
	/* canonical host paths where programs write, also below directories of other users; borrowed; NULL: none */
	const char *written_dir[OVERLAYS_WRITTEN_DIRS];
	char **point;  /* mount points in the namespace of this process; owned */
	size_t points, room;
};
/* no overlay was made yet */
#define OVERLAYS_NONE                       \
	(struct overlays)                   \
	{                                   \
		.dir_fd = -1, .acls_fd = -1 \
	}

/*
 * Makes a detached overlay over the directory lower_fd, whose canonical host path is lower_host, with MOUNTS_*
 * restrictions. scratch: path of the scratch directory, for layers that are not in overlays->kept_dir. A CLOEXEC
 * descriptor owned by the caller, or -errno. Needs a mount namespace of its own and CAP_SYS_ADMIN.
 */
int overlay_create(struct overlays *overlays, const char *scratch, int lower_fd, const char *lower_host,
		   unsigned restrictions);

/* True when an overlay with this directory of a layer that is kept was mounted before: by the run's setup. */
bool overlay_layer_has_begun(int dir_fd);

/*
 * True for a directory, not a link to one, whose owner or group has no number in this user namespace, so that overlayfs
 * can change nothing that is like it (EOVERFLOW), and to which the user has this access (access(2)).
 */
bool overlay_dir_is_unmapped(int dirfd, const char *path, int access_mode);

/* Reads the mount points, for overlays_has_mount_below(). 0 or -errno. */
int overlays_read_mount_points(struct overlays *overlays);

/* A mount point below this host directory, borrowed; NULL: nothing is mounted there. */
const char *overlays_find_mount_below(const struct overlays *overlays, const char *host);

/* True when something is mounted below this host directory. */
bool overlays_has_mount_below(const struct overlays *overlays, const char *host);

void overlays_release(struct overlays *overlays);

#endif
