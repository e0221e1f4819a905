/*
 * Mounts whose writes go to the run's scratch directory, by overlayfs; for build.c. An overlay's lower layer must have
 * no mount below it: in a user namespace the kernel refuses that, and elsewhere the overlay would hide it.
 */
#ifndef CALLGATE_VIEW_OVERLAY_H
#define CALLGATE_VIEW_OVERLAY_H

#include <stdbool.h>
#include <stddef.h>

struct overlays {
	int dir_fd;    /* where the upper layers are; -1: not made yet */
	bool in_tmpfs; /* dir_fd is a tmpfs */
	size_t count, made;
	char **point;  /* the mount points of this process's namespace; owned */
	size_t points, room;
};
#define OVERLAYS_NONE (struct overlays){.dir_fd = -1}

/*
 * A detached overlay over the directory lower_fd, with MOUNTS_* restrictions. scratch: the run's scratch directory. A
 * CLOEXEC descriptor owned by the caller, or -errno. Takes a mount namespace of this process's own and CAP_SYS_ADMIN.
 */
int overlay_create(struct overlays *overlays, const char *scratch, int lower_fd, unsigned restrictions);

/* 0 or -errno. */
int overlays_read_mount_points(struct overlays *overlays);

/* True when something is mounted below this host directory. */
bool overlays_has_mount_below(const struct overlays *overlays, const char *host);

void overlays_release(struct overlays *overlays);

#endif
