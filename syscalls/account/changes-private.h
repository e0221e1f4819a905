/* What changes.c (touching) and changes-report.c (comparing) share. */
#ifndef CALLGATE_SYSCALLS_ACCOUNT_CHANGES_PRIVATE_H
#define CALLGATE_SYSCALLS_ACCOUNT_CHANGES_PRIVATE_H

#include "syscalls/account/changes.h"

enum touched_state { TOUCHED_ABSENT, TOUCHED_PRESENT, TOUCHED_UNKNOWN };

/* A touched path, and its state before the first touch. */
struct touched {
	const struct mount *mount;
	size_t rest; /* offset of place.rest in path; SIZE_MAX: place.rest is the mount's base */
	enum touched_state state;
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

/* The name of a directory that is not the root of a mount, so that place.rest lies in the path. */
struct spot {
	const struct mount *mount;
	size_t rest; /* offset of place.rest in path */
	size_t len;
	char path[];
};

/* A renamed directory. */
struct move {
	struct spot *from; /* the directory's name when the run began; NULL: made by the run */
	struct spot *to;   /* its present name; NULL: removed, and another directory has that name */
};

struct changes {
	void *tree; /* of struct touched, owned, by path: tsearch(3) */
	size_t count;
	size_t bytes; /* of all paths */
	uint64_t unlisted;
	uint64_t listing_ns; /* spent on listing renamed directories */
	struct move *move;   /* renamed directories; owned. A later one takes precedence over an earlier one */
	size_t moves, move_room;
};

/* Touches everything below the renamed directories by first and present path; forgets the moves. 0 or -ENOMEM. */
int changes_list_moved(struct changes *changes);

/* False for mounts that are not the user's: private scratch space, /proc, /dev, provided files. */
bool changes_mount_is_reported(const struct mount *mount);

/* The place of an entry. */
void changes_get_entry_place(const struct touched *entry, struct place *ret_place);

#endif
