/* The set of touched paths. Private to changes*.c. */
#ifndef CALLGATE_SYSCALLS_ACCOUNT_CHANGES_PRIVATE_H
#define CALLGATE_SYSCALLS_ACCOUNT_CHANGES_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/texthash.h"
#include "syscalls/account/changes.h"

enum touched_state { TOUCHED_ABSENT, TOUCHED_PRESENT, TOUCHED_UNKNOWN };

struct touched {
	uint64_t hash;
	const struct mount *mount;
	size_t rest; /* offset of place.rest in path; SIZE_MAX: it is the mount's base */
	enum touched_state state;
	/* What tells a changed object from an unchanged one. */
	dev_t dev;
	ino_t ino;
	mode_t mode;
	uid_t uid;
	gid_t gid;
	uint64_t size;
	struct timespec mtime, ctime;
	size_t path_len;
	char path[];
};

/* The name of a directory. A renamed one is no mount's root, so the rest of its place lies in the path. */
struct spot {
	const struct mount *mount;
	size_t rest; /* offset of place.rest in path */
	size_t len;
	char path[];
};

/* A renamed directory. */
struct move {
	struct spot *from; /* its name when the run began; NULL: the run made it */
	struct spot *to;   /* its name now; NULL: removed, and another directory has the name */
};

struct changes {
	struct texthash hash;
	struct touched **slot; /* open addressing; owned entries */
	size_t slots;          /* a power of two, or 0 */
	size_t count;
	size_t bytes; /* of all paths */
	uint64_t unlisted;
	uint64_t listing_ns; /* spent on listing what was renamed */
	struct move *move; /* directories that were renamed; owned. Later ones count more than earlier ones */
	size_t moves, move_room;
};

/*
 * The entry of a place. When it is new, its state is what is at `source` now; NULL: nothing was there. 0, with NULL
 * when it is not kept; or -ENOMEM.
 */
int changes_entry(struct changes *changes, const struct place *place, const struct place *source,
		  struct touched **ret_entry);

/*
 * changes_touch where directories were renamed: the name's object may have had another name, and another object this
 * one.
 */
int changes_touch_moved(struct changes *changes, const struct place *place);
/*
 * Lists what was renamed, touches each name there by its first and its present path, and forgets the moves. 0 or
 * -ENOMEM.
 */
int changes_list_moved(struct changes *changes);
void changes_forget_moves(struct changes *changes);

/*
 * The move that tells most exactly where the path's first object went, or (by_to) which object is there now. NULL:
 * none.
 */
struct move *changes_find_move(const struct changes *changes, const char *path, bool by_to);
/* The place `tail` ("" or "/…") below a spot. False when the name would be too long. */
bool changes_spot_place(const struct spot *spot, const char *tail, struct place *ret_place);

/* False for what is not the user's: private scratch space, /proc, /dev, provided files. */
bool changes_reported(const struct mount *mount);

/* Where an entry's path leads now. */
void changes_place(const struct touched *entry, struct place *ret_place);

#endif
