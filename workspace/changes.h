/*
 * What a run with --cow has changed: compares the upper layer of its workspace with the directory, which is not
 * scanned. Only what the layer has is looked at, and what it hides.
 */
#ifndef CALLGATE_WORKSPACE_CHANGES_H
#define CALLGATE_WORKSPACE_CHANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "workspace/layer.h"
#include "workspace/names/links.h"

#define WORKSPACE_CHANGES_MAX 1000000u                /* most changes of a workspace */
#define WORKSPACE_CHANGES_PATH_BYTES_MAX (512u << 20) /* most bytes of all their paths */

enum workspace_change_kind {
	WORKSPACE_ADDED,
	WORKSPACE_DELETED,
	WORKSPACE_MODIFIED,
	WORKSPACE_REPLACED, /* by what has another type, such as a link instead of a file */
	WORKSPACE_RENAMED,  /* a regular file that was added, with the content of one that was deleted */
	WORKSPACE_CHANGE_KIND_MAX,
};

/* How an entry differs from the one that it replaces. */
enum workspace_difference {
	WORKSPACE_CONTENT_DIFFERS = 1 << 0, /* content, target of a link, or number of a device */
	WORKSPACE_MODE_DIFFERS = 1 << 1,
	WORKSPACE_OWNER_DIFFERS = 1 << 2,
	WORKSPACE_ATTRIBUTES_DIFFER = 1 << 3, /* extended attributes, which ACLs and capabilities are as well */
	WORKSPACE_TIME_DIFFERS = 1 << 4, /* the time of modification; not of directories, which any entry changes */
};

/* An entry as it was or is. */
struct workspace_entry {
	bool exists;
	mode_t mode;
	uid_t uid;
	gid_t gid;
	uint64_t size;
	dev_t rdev;
	ino_t ino;
	nlink_t nlink;
	struct timespec mtime, ctime;
};

/* What differs between two entries besides content and extended attributes: bits of enum workspace_difference. */
static inline unsigned workspace_compare_entries(const struct workspace_entry *old, const struct workspace_entry *new)
{
	unsigned differences = old->mode != new->mode ? WORKSPACE_MODE_DIFFERS : 0;

	if (old->uid != new->uid || old->gid != new->gid)
		differences |= WORKSPACE_OWNER_DIFFERS;
	if (!S_ISDIR(new->mode) && (old->mtime.tv_sec != new->mtime.tv_sec || old->mtime.tv_nsec != new->mtime.tv_nsec))
		differences |= WORKSPACE_TIME_DIFFERS;
	return differences;
}

struct workspace_change {
	char *path;     /* below the directory; "": the directory itself; owned */
	char *old_path; /* of a renamed file: what it was called; owned */
	char *new_path; /* keeps_renames_apart: what the file that was deleted or replaced is called now; owned */
	/*
	 * set by names/moves.h: what the directory has at this path, and what the layer has; equal numbers may be of
	 * one file. 0: it has one name only
	 */
	uint64_t old_file, new_file;
	bool has_old_name; /* likewise: the directory has a file, at another path, that the new one may be */
	enum workspace_change_kind kind;
	unsigned differences;               /* bits of enum workspace_difference; for MODIFIED and RENAMED */
	struct workspace_entry base, upper; /* in the directory, in the layer */
};

struct workspace_changes {
	struct workspace_change *item;
	size_t count, room, path_bytes;
	struct workspace_links links; /* files of the layer with several names, also of unchanged ones; sorted */
	/* set by the caller: a renamed file stays two changes, which name each other */
	bool keeps_renames_apart;
	bool knows_moves; /* set by names/moves.h: false: old_file and new_file are alike, as any may be of one file */
	bool is_incomplete; /* something could not be read: on_unread was called */
	bool has_lost;      /* workspace_is_lost() is true of some paths: on_unread was called with -ESTALE */
	/* called with the path and -errno for each thing that could not be read; NULL: not called */
	void (*on_unread)(const char *path, int error);
	/* called with each directory that its owner may not read or search, before it is compared; NULL: not called */
	void (*on_closed_dir)(void *ctx, const char *path);
	void *on_closed_dir_ctx;
	/* called with each path that the layer has, or removes, as the directory has it now; NULL: not called */
	void (*on_unchanged)(void *ctx, const char *path);
	void *on_unchanged_ctx;
};

/*
 * Finds all changes, sorted by path. Zero-initialise, except what the caller sets. workspace_changes_release() frees.
 * 0; -E2BIG: more than the limits above; or -ENOMEM.
 */
int workspace_changes_find(const struct workspace_layer *layer, struct workspace_changes *changes);
void workspace_changes_release(struct workspace_changes *changes);
/* Frees the paths of one change. */
void workspace_change_release(struct workspace_change *change);
#define _cleanup_workspace_changes_ __attribute__((cleanup(workspace_changes_release)))

#endif
