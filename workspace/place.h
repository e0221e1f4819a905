/*
 * Puts entries of a workspace's layer into its directory. Files are replaced in one step: at each moment, the old or
 * the new one is there. No link is followed.
 */
#ifndef CALLGATE_WORKSPACE_PLACE_H
#define CALLGATE_WORKSPACE_PLACE_H

#include "workspace/changes.h"
#include "workspace/store.h"

#define PLACE_NAME_SIZE (sizeof(".callgate-") + WORKSPACE_ID_LEN)

enum place_flag {
	PLACE_ON_DISK = 1 << 0,        /* the content of a regular file is on the disk first */
	PLACE_OWN_ATTRIBUTES = 1 << 1, /* with the attributes of the overlay itself: the copy is in a layer, too */
	PLACE_AS_OWN = 1 << 2,         /* what belongs to others is the caller's own, unless it may change that */
	/* seen through the overlay, which hides its own attributes: those with its prefix are a program's */
	PLACE_IN_OVERLAY = 1 << 3,
};

/*
 * Makes an entry that is no directory, with the content and all attributes of another one, open with O_PATH. layer: of
 * which the attributes of an overlay are not copied. flags: PLACE_*. 0; -EPERM: a device; or -errno: then it is not
 * there, unless it is another's.
 */
int place_make_copy(const struct workspace_layer *layer, int dir_fd, const char *name, int from_fd, mode_t mode,
		    unsigned flags);

/* Gives an entry owner, mode, attributes and times of another one; both open with O_PATH. 0 or -errno. */
int place_copy_metadata(const struct workspace_layer *layer, int from_fd, int fd, unsigned flags);

/* Opens the directory that has a path, for reading. *ret_name: the rest, borrowed. A descriptor or -errno. */
int place_open_parent(int root_fd, const char *path, const char **ret_name);

/* The name under which an entry is made, beside the one that it replaces. */
void place_format_name(const char *id, char ret_name[PLACE_NAME_SIZE]);

/*
 * Puts the new entry of a change into the directory; of a directory, an empty one without its attributes. -ESTALE: what
 * it replaces is not what was compared; -EEXIST: something else is there; -EBUSY: an entry is called `temporary`, which
 * is of place_format_name(). 0 or -errno; then the directory is as it was.
 */
int place_put(const struct workspace_layer *layer, const struct workspace_change *change, const char *temporary);

/*
 * Gives the new regular file of a change, which the directory already has at another path, its name as well (a hard
 * link). -ESTALE: that is not what the layer has. Returns as place_put().
 */
int place_link(const struct workspace_layer *layer, const struct workspace_change *change, const char *other_path,
	       const char *temporary);

/* Removes the old entry of a change. Returns as place_put(); -ENOTEMPTY: a directory has entries. */
int place_remove(const struct workspace_layer *layer, const struct workspace_change *change);

/* Gives a directory the owner, mode, attributes and times that it has in the layer. 0 or -errno. */
int place_set_attributes(const struct workspace_layer *layer, const struct workspace_change *change);

/* Removes an entry that a crash has left beside a path. 0 or -errno. */
int place_remove_temporary(const struct workspace_layer *layer, const char *path, const char *temporary);

#endif
