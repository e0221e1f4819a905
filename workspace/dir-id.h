/*
 * Which directory a workspace is of, or an apply has changed. The inode number does not tell it: that of the root is
 * the same on all file systems of a kind, so that another one may have been mounted there since.
 */
#ifndef CALLGATE_WORKSPACE_DIR_ID_H
#define CALLGATE_WORKSPACE_DIR_ID_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include <jansson.h>

struct dir_id {
	uint64_t inode;       /* 0: nothing is known of it */
	struct timespec born; /* when it was made (statx); 0: not known */
	uint64_t fsid;        /* of its file system (statfs); 0: not known */
};

/* Reads it of an open directory, also one with O_PATH. 0 or -errno. */
int dir_id_read(int fd, struct dir_id *ret_id);

/* True when it is known when it was made. */
bool dir_id_has_birth(const struct dir_id *id);

/* True when fd is that directory, or when nothing tells that it is not. False also when it cannot be looked at. */
bool dir_id_is_of(const struct dir_id *id, int fd);

/* Adds it to an object. 0 or -ENOMEM. */
int dir_id_put(json_t *object, const struct dir_id *id);

/* Gets it from an object; what is not there, as in one of an older version, is not known. object may be NULL. */
void dir_id_get(const json_t *object, struct dir_id *ret_id);

#endif
