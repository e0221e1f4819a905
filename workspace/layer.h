/*
 * The layer of a workspace, and the directory below it: how callgate reads both after the run. The program wrote the
 * upper layer, so that nothing in it is trusted: no link is followed, nothing but regular files is read, and
 * attributes count only if the overlay alone could set them.
 */
#ifndef CALLGATE_WORKSPACE_LAYER_H
#define CALLGATE_WORKSPACE_LAYER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/* File of a layer by copying: paths of lost files, sorted, each with its NUL (fold.h); missing: there are none. */
#define WORKSPACE_LOST_NAME "lost"

/* File of a layer, empty: checkpoints were restored in it. */
#define WORKSPACE_RESTORED_NAME "restored"

/* Both directories of an overlay. */
struct workspace_layer {
	int base_fd;        /* the directory that the run was started in */
	int upper_fd;       /* what was written */
	int dir_fd;         /* the directory of the layer */
	struct timespec mounted; /* when the overlay was mounted, by the clock of files */
	const char *prefix; /* of the overlay's own attributes: "trusted.overlay." or "user.overlay." */
	bool has_root_attributes; /* upper_fd itself began with all attributes of base_fd */
	bool was_restored;        /* a session has made files again that may be older than the names they have now */
	bool is_live_copy;  /* upper_fd is a copy that programs go on to write to, and not what differs from records */
	struct closed *closed; /* modes of entries of upper_fd that were made readable (closed.h); owned; or NULL */
	struct fills *fills; /* of a live copy: its files without content; owned; NULL: all have theirs */
	char *lost_text;     /* of a layer by copying: what is in WORKSPACE_LOST_NAME; owned; NULL: nothing */
	char **lost;         /* the paths in it, sorted; owned */
	size_t lost_count;
	char *gid_map;      /* of a layer by copying: the groups that its entries could have; owned; NULL: any */
	struct workspace_records *records; /* of a layer by copying: what was copied; owned; NULL: it is an overlay's */
};
#define WORKSPACE_LAYER_INIT                                \
	(struct workspace_layer)                            \
	{                                                   \
		.base_fd = -1, .upper_fd = -1, .dir_fd = -1 \
	}

/*
 * True for a group of the directory that entries of the copy could not have, and which this process can give to files:
 * what the program changed keeps it.
 */
bool workspace_keeps_group(const struct workspace_layer *layer, gid_t gid);

/* True when this process may give the group to its files. */
bool workspace_is_own_group(gid_t gid);

/* Reads the status of an entry of the upper layer, with the mode that the program has left. 0 or -errno. */
int workspace_stat_upper(const struct workspace_layer *layer, int upper_fd, struct stat *ret_status);

/* Opens the directory of a workspace that has layer `at`. A descriptor or -errno. */
int workspace_open_layer_dir(int workspace_fd, size_t at);

/* False when a run was ended before its program could write to layer `at`. */
bool workspace_layer_exists(int workspace_fd, size_t at);

/*
 * Whether the run has changed the directory `dir` itself, of layer `at`: its mode, owner or extended attributes. Of
 * these, a process that may not read them compares the names. 1, 0, also when its program never ran, or -errno.
 */
int workspace_layer_root_is_changed(int workspace_fd, size_t at, const char *dir);

/*
 * Opens layer `at` of a workspace, an open directory, and its directory `dir`. 0, or -errno with *ret_why (static), why
 * it cannot be read. workspace_layer_release() closes.
 */
int workspace_layer_open(int workspace_fd, size_t at, const char *dir, struct workspace_layer *ret_layer,
			 const char **ret_why);

/*
 * Opens layer `at` of a session that goes on. Of one by copying there is no layer yet: upper_fd is the copy then.
 * Returns as workspace_layer_open().
 */
int workspace_layer_open_live(int workspace_fd, size_t at, const char *dir, struct workspace_layer *ret_layer,
			      const char **ret_why);
void workspace_layer_release(struct workspace_layer *layer);
#define _cleanup_workspace_layer_ __attribute__((cleanup(workspace_layer_release)))

/*
 * Opens what a path below root_fd names, with O_PATH; "" is the directory itself. A final link is opened itself;
 * -ELOOP: another part is a link; -EXDEV: something is mounted there. A descriptor owned by the caller, or -errno.
 */
int workspace_open_entry(int root_fd, const char *path);

/*
 * Opens for reading what is open with O_PATH: a regular file or a directory. -EINVAL: it is neither. Its access time
 * stays as it is where this process may ask for that. A descriptor owned by the caller, or -errno.
 */
int workspace_open_content(int path_fd);

/* True for an entry of an overlay's upper layer that says that its name was removed. */
bool workspace_is_whiteout(const struct stat *upper);

/*
 * The same, for any layer. In one by copying it is an empty file with the mode of WORKSPACE_WHITEOUT_MODE and the time
 * of layer->mounted, because the overlay's device cannot be made on overlayfs. A program that makes one has removed the
 * name.
 */
bool workspace_is_removed(const struct workspace_layer *layer, const struct stat *upper);
#define WORKSPACE_WHITEOUT_MODE ((mode_t)(S_IFREG | S_ISVTX))

/* Whether a directory of the upper layer, open with O_PATH, hides the one below it. 1, 0, or -errno. */
int workspace_is_opaque(const struct workspace_layer *layer, int upper_fd);

/*
 * True when an entry of the upper layer, open with O_PATH, was copied from the directory, perhaps from another name.
 */
bool workspace_has_origin(const struct workspace_layer *layer, const char *path, int upper_fd);

/*
 * True when an entry of the upper layer, open with O_PATH, is one of the directory that the program has changed,
 * perhaps also renamed, and not one that it has made with the same name.
 */
bool workspace_is_same_file(const struct workspace_layer *layer, const char *path, int upper_fd);

/*
 * True for a path of a file whose content is lost, of which only attributes or the name were changed: one that it had
 * in the directory, or that the program gave it.
 */
bool workspace_is_lost(const struct workspace_layer *layer, const char *path);

/*
 * True for the name of an attribute that is the overlay's own, SELinux', or one that no program can see ("trusted."):
 * it is neither compared nor applied.
 */
bool workspace_is_own_attribute(const struct workspace_layer *layer, const char *name);

/* True for such a name, if the program has not seen what the directory has by it, so that it must stay there. */
bool workspace_is_hidden_attribute(const struct workspace_layer *layer, const char *name);

/*
 * The name by which the overlay shows an attribute of its layers to the program: "user.overlay.x" for
 * "user.overlay.overlay.x". NULL: by its own name. out: room for XATTR_NAME_MAX + 1; the result is in it.
 */
const char *workspace_get_shown_attribute(const struct workspace_layer *layer, const char *name, char *out);

/*
 * Whether two entries, open with O_PATH, have other extended attributes; those of the overlay do not count. What the
 * program has set with a name of theirs may have its own name in the directory, or that of the layer. base_fd -1:
 * only that upper_fd is one that this code understands. 1, 0, or -errno; -EUCLEAN: an entry of the upper layer has not
 * its whole content (redirect, metacopy).
 */
int workspace_compare_attributes(const struct workspace_layer *layer, int base_fd, int upper_fd);

/* True unless a time is before that of the mount. Equal: within one tick of the clock, so it may be later. */
bool workspace_time_is_since_mount(const struct workspace_layer *layer, const struct timespec *time);

#endif
