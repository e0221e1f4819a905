/*
 * Puts entries of a workspace's layer into its directory. Files are replaced in one step: at each moment, the old or
 * the new one is there. No link is followed.
 */
#ifndef CALLGATE_WORKSPACE_PLACE_H
#define CALLGATE_WORKSPACE_PLACE_H

#include "workspace/changes.h"
#include "workspace/store.h"

#define PLACE_NAME_SIZE (sizeof(".callgate-.") + WORKSPACE_ID_LEN + 20)

enum place_flag {
	PLACE_ON_DISK = 1 << 0,        /* the content of a regular file is on the disk first */
	PLACE_OWN_ATTRIBUTES = 1 << 1, /* with the attributes of the overlay itself: the copy is in a layer, too */
	PLACE_AS_OWN = 1 << 2,         /* what belongs to others is the caller's own, unless it may change that */
	/* seen through the overlay, which hides its own attributes: those with its prefix are a program's */
	PLACE_IN_OVERLAY = 1 << 3,
	/* in the directory, without the overlay: attributes with its prefix are those of the directory */
	PLACE_IN_BASE = 1 << 4,
};

/*
 * Makes an entry that is no directory, with the content and all attributes of another one, open with O_PATH. layer: of
 * which the attributes of an overlay are not copied. flags: PLACE_*. 0; -EPERM: a device; or -errno: then it is not
 * there, unless it is another's.
 */
int place_make_copy(const struct workspace_layer *layer, int dir_fd, const char *name, int from_fd, mode_t mode,
		    unsigned flags);

/*
 * Gives an entry owner, mode, attributes and times of another one; all open with O_PATH. old_fd: the entry that it
 * replaces, or itself, whose attributes with the overlay's prefix stay; or -1. 0 or -errno.
 */
int place_copy_metadata(const struct workspace_layer *layer, int from_fd, int fd, int old_fd, unsigned flags);

/* Opens the directory that has a path, for reading. *ret_name: the rest, borrowed. A descriptor or -errno. */
int place_open_parent(int root_fd, const char *path, const char **ret_name);

/* True for an error of place_open_parent(): there is no such directory. */
bool place_is_without_dir(int error);

/* The name under which an entry is made, beside the one that it replaces. number: a replacement's (below), or 0. */
void place_format_name(const char *id, size_t number, char ret_name[PLACE_NAME_SIZE]);

/*
 * Makes the new entry of a change under the name `temporary`, which is of place_format_name(), in the directory of its
 * path; of a directory, an empty one without its attributes. -EBUSY: something has that name. 0 or -errno; then nothing
 * was made.
 */
int place_make_new(const struct workspace_layer *layer, const struct workspace_change *change, const char *temporary);

/*
 * The same, for another name (a hard link) of the new regular file of a change, which is at a path below other_fd
 * already. -ESTALE: that is not what the layer has. Returns as place_make_new().
 */
int place_make_link(const struct workspace_layer *layer, const struct workspace_change *change, int other_fd,
		    const char *other_path, const char *temporary);

/*
 * Puts the new entry of a change into the directory; of a directory, an empty one without its attributes. -ESTALE: what
 * it replaces is not what was compared; -EEXIST: something else is there; -EBUSY: something is called `temporary`. 0 or
 * -errno; then the directory is as it was.
 */
int place_put(const struct workspace_layer *layer, const struct workspace_change *change, const char *temporary);

/* The same, of what place_make_link() makes. */
int place_link(const struct workspace_layer *layer, const struct workspace_change *change, int other_fd,
	       const char *other_path, const char *temporary);

/* Whether a name in a directory is still what was compared. was_renamed: by this process. 0, -ESTALE or -errno. */
int place_check_old(int dir_fd, const char *name, const struct workspace_entry *old, bool was_renamed);

/* Whether the old entry of a change is still what was compared. 0, -ESTALE or -errno. */
int place_check(const struct workspace_layer *layer, const struct workspace_change *change);

/* Removes the old entry of a change. Returns as place_put(); -ENOTEMPTY: a directory has entries. */
int place_remove(const struct workspace_layer *layer, const struct workspace_change *change);

/*
 * Gives a directory the owner, mode, attributes and times that it has in the layer. -ESTALE: it has another mode or
 * owner than when it was compared. 0 or -errno.
 */
int place_set_attributes(const struct workspace_layer *layer, const struct workspace_change *change);

/* Removes an entry that a crash has left beside a path. -ESTALE: a directory, which is not the apply's. 0 or -errno. */
int place_remove_temporary(const struct workspace_layer *layer, const char *path, const char *temporary);

/*
 * ---- replacements: replace.c ----
 *
 * A directory that takes the place of a file, or a file that of a directory. The new entry is made beside the old one,
 * a directory with all that is in it; then both change their names; the old one is removed last. So nothing is lost
 * when the new one cannot be made.
 */

/* A replacement that goes on. */
struct replacement {
	int dir_fd;       /* of the directory that both entries are in */
	int old_fd;       /* of the old entry: a directory for reading, anything else with O_PATH */
	const char *name; /* borrowed from the change */
	char temporary[PLACE_NAME_SIZE];
	bool is_exchanged;  /* the new entry has the name, and the old one the temporary name */
	bool is_unfinished; /* what has the temporary name must stay for replacement_recover() */
};
#define REPLACEMENT_INIT                   \
	(struct replacement)               \
	{                                  \
		.dir_fd = -1, .old_fd = -1 \
	}
void replacement_release(struct replacement *replacement);
#define _cleanup_replacement_ __attribute__((cleanup(replacement_release)))

/* True for a change that is such a replacement. */
bool workspace_change_is_replacement(const struct workspace_change *change);

/*
 * Opens both entries of a change, of which the new one has the name `temporary`, and changes their names where the file
 * system can do that. -ESTALE: the old one is not what was compared. 0 or -errno; then all is as it was.
 * replacement_release() closes.
 */
int replacement_begin(const struct workspace_layer *layer, const struct workspace_change *change, const char *temporary,
		      struct replacement *ret_replacement);

/*
 * Removes the old entry, and gives the new one its name, unless it has that. -ENOTEMPTY: the old one has entries. 0 or
 * -errno.
 */
int replacement_end(struct replacement *replacement, const struct workspace_change *change);

/* After a failure: gives the old entry its name, if the new one has that. */
void replacement_take_back(struct replacement *replacement);

/*
 * Removes the new entry of a path, under its temporary name, with all that is in it. -ESTALE: not all of it is in the
 * layer, too. 0 or -errno.
 */
int replacement_remove_new(const struct workspace_layer *layer, const char *path, const char *temporary);

/*
 * Ends one that was interrupted: gives the old entry its name, if it is not removed yet, and removes the new one. Only
 * what the layer has as well is removed, so that nothing is lost. is_made: the new one was complete. 0: nothing was
 * left; 1: it is ended; -ESTALE: both names stay, as something at one of them is not the apply's; or -errno.
 */
int replacement_recover(const struct workspace_layer *layer, const char *path, const char *temporary, bool is_made);

#endif
