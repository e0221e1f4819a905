/* What the files share that make a view: view_create() (build.c) and its parts. */
#ifndef CALLGATE_VIEW_CREATE_BUILD_H
#define CALLGATE_VIEW_CREATE_BUILD_H

#include <stddef.h>
#include <stdint.h>

#include "policy/parse/errors.h"
#include "view/overlay.h"
#include "view/prepare.h"
#include "view/private.h"

/* The building of a view from a policy. */
struct build_state {
	struct view *view;
	const struct view_options *options;
	struct policy_error *error;
	struct overlays overlays;          /* of grants whose writes go to the scratch directory */
	const struct policy_mount **split; /* grants that have mounts below them: each part gets its own overlay */
	size_t splits, split_room;
	uint64_t workspace_dirs_mounted; /* with --cow: bits of the directories that are mounted */
};

/* ---- grant.c: an int result is 0 or -errno ---- */

/* Writes the message of a failed view_create(): `what` failed for `path`. Returns error. */
int build_set_error(const struct build_state *build, int error, const char *what, const char *path);

/* Returns the MOUNT_* flags of the mount that shows a grant. */
unsigned build_get_mount_flags(const struct build_state *build, const struct policy_mount *grant);

/* Makes a directory of the scratch directory, with its ancestors, with the mode of /tmp. */
int build_make_private_dir(const char *host);

/* Opens a directory of the host, O_PATH. A descriptor owned by the caller; or -errno, sometimes with a message. */
int build_open_dir(const struct build_state *build, const char *host);

/*
 * Clones the mount of a host path, for view_attach_mounts. A descriptor owned by the caller, and the object's mode;
 * -errno: the caller opens the path instead.
 */
int build_clone_mount(const struct build_state *build, const char *virt, const char *host, unsigned flags,
		      mode_t *ret_mode);

/*
 * Finds or makes the held directory of a file. virt: the virtual path of a file in the skeleton, for which the
 * directory is opened, because `host` may not exist yet; else NULL.
 */
int build_find_or_make_held_dir(const struct build_state *build, const char *host, const char *virt,
				struct held_dir **ret_held);

/*
 * Mounts a file. It is opened through its directory: if the host replaces it, the new file is seen. Takes copy_fd (-1:
 * none).
 */
int build_mount_file(struct build_state *build, const char *virt, const char *host, int copy_fd, unsigned flags,
		     const char *rule);

/* Adds the mount of a granted directory. Takes dir_fd, also on failure. */
int build_mount_dir(struct build_state *build, const struct policy_mount *grant, int dir_fd, unsigned flags);

/* Shows a grant whose writes go to the host. */
int build_mount_without_overlay(struct build_state *build, const struct policy_mount *grant, unsigned flags);

/* ---- overlay.c: grants whose writes go elsewhere; an int result is 0 or -errno ---- */

/* Mounts an overlay over the granted directory. -EAGAIN: that is impossible. */
int build_mount_overlay(struct build_state *build, const struct policy_mount *grant, unsigned flags);

/*
 * Mounts a grant whose writes go to the scratch directory. What cannot have an overlay is mounted read-only. With
 * --dry-run this is an error, if it concerns the whole grant.
 */
int build_mount_redirected(struct build_state *build, const struct policy_mount *grant, unsigned flags);

/* Mounts the parts of split grants. Called after all grants: another grant may have the path of a part. */
int build_mount_split_grants(struct build_state *build);

/* ---- provided.c: provided files, /dev, /proc and the root; an int result is 0 or -errno ---- */

/* Makes the skeleton, and shows it as "/". */
int build_mount_root(struct build_state *build);

/* Whether callgate itself provides a file at this path: view_options.provided_file. */
bool build_path_is_provided_file(const struct build_state *build, const char *virt);

/* Adds a file with this content: in the skeleton or, in a granted tree, as the provided file `name`. */
int build_mount_file_with_text(struct build_state *build, const char *name, const char *virt, const void *text,
			       size_t len, unsigned flags, const char *rule);

/* Adds the files of view_options.provide, after the grants that they may lie in. 0, or -errno with a message. */
int build_mount_provided_files(struct build_state *build);

/* Makes /proc and a /dev with the devices and links that every run has. */
int build_mount_proc_and_devices(struct build_state *build);

/* ---- workspace.c: directories of --cow ---- */

/* With --cow: the number of the directory that stays as it is and has this host path in it. -ENOENT: none has. */
int build_find_workspace_dir(const struct build_state *build, const char *host);

/*
 * With --cow, before a writable grant in directory `at` is mounted: 0, or -EOPNOTSUPP with its message. One layer has
 * to get all changes, so the only such grant can be the directory itself.
 */
int build_check_workspace_grant(const struct build_state *build, const struct policy_mount *grant, int at);

/* What is in the workspace for a directory before it is mounted. */
enum build_layer {
	BUILD_LAYER_NEW,     /* nothing */
	BUILD_LAYER_OVERLAY, /* the run's setup had an overlay of it */
	BUILD_LAYER_COPY,    /* the run's setup had a copy of it */
};

enum build_layer build_find_layer(const struct build_state *build, int at);

/* Sets the error of an overlay that cannot be mounted for the program as it was for the setup. Returns -EOPNOTSUPP. */
int build_refuse_mounting_again(const struct build_state *build, int at);

/*
 * With --cow, when no overlay is mounted over directory `at`: copies it into the workspace. *ret_host: host path of the
 * copy, owned by the caller. 0, -EOPNOTSUPP with its message, -ECANCELED (view_options.copy_go_on), or -ENOMEM.
 */
int build_find_workspace_copy(struct build_state *build, const struct policy_mount *grant, int at, char **ret_host);

/*
 * True when directory `at` of --cow has an owner or group that stat(2) does not tell from the user's own: the user
 * namespace of user or group 65534 has no other number for those that it lacks.
 */
bool build_workspace_owner_is_hidden(const struct build_state *build, const char *host, int at);

/*
 * With --cow, when the overlay or copy of directory `at` is the last mount: opens its layer, for what is kept of the
 * run. 0, or -EOPNOTSUPP with its message, or -ENOMEM.
 */
int build_add_workspace_layer(const struct build_state *build, const struct policy_mount *grant, int at);

/*
 * With --cow: refuses a grant by which the program could write to a directory past its layer. A writable grant of a
 * directory above it shows it in its own mount. 0, or -EOPNOTSUPP with its message.
 */
int build_refuse_grant_above_workspace(const struct build_state *build, const struct policy_mount *grant);

/* With --cow, when all grants are mounted: 0, or -EOPNOTSUPP with its message when a directory is not among them. */
int build_check_workspace(const struct build_state *build);

/* ---- inputs.c: inputs of a run with --cow, which are in VIEW_INPUTS_DIR_NAME of the workspace ---- */

/*
 * Moves the inputs into directory `name` of the layer of directory `at`, if that is the one that they are for. What
 * they take is added to *size; NULL: it is not needed. 0, also if there are none, or -errno.
 */
int build_put_inputs(const struct build_state *build, int at, const char *name, struct copy_size *size);
/* Moves them back from a layer that has nothing else. 0 or -errno. */
int build_take_inputs_back(const struct build_state *build, int at, const char *name);
/* Removes the directory of inputs, which is empty now. */
void build_end_inputs(const struct build_state *build);

#endif
