/*
 * Finds the files of a workspace's directory as they were before the program changed them:
 * syscalls/account/workspace/bases.h.
 */
#ifndef CALLGATE_WORKSPACE_BASES_H
#define CALLGATE_WORKSPACE_BASES_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "workspace/changes.h"
#include "workspace/first-dirs.h"

struct workspace_base;

struct workspace_bases {
	char *text; /* all records, mapped; owned */
	size_t len;
	struct workspace_base *item; /* sorted */
	size_t count, room;
	bool were_kept;     /* there is a file of records */
	bool is_incomplete; /* some record could not be written */
	struct workspace_first_dirs first_dirs;
};

/*
 * Reads the bases of a layer, and which directories it began with. Zero-initialise; workspace_bases_release() frees. 0
 * or -errno.
 */
int workspace_bases_load(const struct workspace_layer *layer, struct workspace_bases *bases);
void workspace_bases_release(struct workspace_bases *bases);
#define _cleanup_workspace_bases_ __attribute__((cleanup(workspace_bases_release)))

/*
 * Finds the base of what a change has changed, removed or replaced, and writes it to a file of the workspace. True:
 * ret_text is its path below layer->dir_fd. False: ret_text says why there is none ("it was no regular file").
 */
bool workspace_bases_find(const struct workspace_bases *bases, const struct workspace_layer *layer,
			  const struct workspace_change *change, char ret_text[PATH_MAX]);

/* True when the directory had a file or link of this path when the program first changed it. */
bool workspace_bases_has(const struct workspace_bases *bases, const struct workspace_layer *layer, const char *path);

/*
 * Calls visit with the path, which has no NUL, and the inode number in the directory of each file that has a record, of
 * a layer of an overlay, until it fails. 0, or what visit has returned.
 */
int workspace_bases_visit(const struct workspace_bases *bases,
			  int (*visit)(void *ctx, uint64_t inode, const char *path, size_t len), void *ctx);

/*
 * True when a file or link of the directory that a change is about has content and attributes as when the program first
 * changed it, whatever its inode number and change time: such as one that callgate ws recover has put back. False when
 * something outside had changed it before the program did.
 */
bool workspace_bases_has_fingerprint(const struct workspace_bases *bases, const struct workspace_layer *layer,
				     const struct workspace_change *change);

#endif
