/* The set of touched paths. Private to changes*.c. */
#ifndef CALLGATE_SYSCALLS_CHANGES_PRIVATE_H
#define CALLGATE_SYSCALLS_CHANGES_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "syscalls/changes.h"
#include "syscalls/texthash.h"

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

struct changes {
	struct texthash hash;
	struct touched **slot; /* open addressing; owned entries */
	size_t slots;          /* a power of two, or 0 */
	size_t count;
	size_t bytes; /* of all paths */
	uint64_t unlisted;
};

/* The entry of a place, made with its present state when it is new. 0, with NULL when it is not kept; or -ENOMEM. */
int changes_entry(struct changes *changes, const struct place *place, bool known_absent, struct touched **ret_entry);

/* False for what is not the user's: private scratch space, /proc, /dev, provided files. */
bool changes_reported(const struct mount *mount);

/* Where an entry's path leads now. */
void changes_place(const struct touched *entry, struct place *ret_place);

#endif
