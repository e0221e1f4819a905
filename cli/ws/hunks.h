/* The texts of two files as the hunks of a unified diff, made by diff(1) where there are two. */
#ifndef CALLGATE_CLI_WS_HUNKS_H
#define CALLGATE_CLI_WS_HUNKS_H

#include <stdint.h>

#include "base/buf.h"
#include "workspace/changes.h"

#define HUNKS_FILE_BYTES_MAX (4u << 20) /* larger files are not compared as texts */

enum hunks_kind {
	HUNKS_TEXT,   /* hunks, or none: the texts are equal */
	HUNKS_BINARY, /* one of the files is not text */
	HUNKS_LARGE,  /* one of the files is too large, or the texts differ in too much */
	HUNKS_UNREAD, /* one of the files cannot be read, or has gone meanwhile */
};

/* What diff(1) makes of two files. */
struct hunks {
	enum hunks_kind kind;
	struct buf text;         /* HUNKS_TEXT: from the first "@@" on; owned */
	uint64_t added, removed; /* lines */
};

/*
 * Compares what a regular file or link was and is; of a link, its target is the text. An entry that does not exist is
 * an empty text. ret_hunks is zero-initialised. 0; -ENOENT: there is no diff(1); or -errno.
 */
int hunks_make(const struct workspace_layer *layer, const char *old_path, const struct workspace_entry *old,
	       const char *new_path, const struct workspace_entry *new, struct hunks *ret_hunks);

#endif
