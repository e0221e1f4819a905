/* What the run did to granted trees: each touched path with its state before the first touch. For `changes` of the result. */
#ifndef CALLGATE_SYSCALLS_CHANGES_H
#define CALLGATE_SYSCALLS_CHANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "syscalls/view.h"

struct changes;

enum change_kind { CHANGE_ADDED, CHANGE_MODIFIED, CHANGE_DELETED };

struct change {
	const char *path; /* virtual */
	enum change_kind kind;
	uint64_t size_bytes;
	char sha256[65]; /* "" for directories, links and special files */
};

struct changes *changes_create(void);
void changes_free(struct changes *changes);

/* To be called before the first effect on this place (create, open for writing, unlink, rename …). Cheap when seen already. */
int changes_touch(struct changes *changes, const struct place *place);
/* The same for everything below: before a directory is renamed from `from` to `to`. */
int changes_touch_tree(struct changes *changes, const struct place *from, const struct place *to);

/* Compares with the present and calls `each` in path order. 0 or -errno. */
int changes_report(struct changes *changes, const struct view *view, void (*each)(void *ctx, const struct change *change),
		   void *ctx);

#endif
