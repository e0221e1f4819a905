/* Files with several names that are copied: which copy an inode has, so that its other names become links to that. */
#ifndef CALLGATE_WORKSPACE_COPIES_H
#define CALLGATE_WORKSPACE_COPIES_H

#include <stdint.h>

struct copies {
	void *root; /* a tree of tsearch(3) */
};

/* Notes that the inode has a copy at `path`. 0 or -ENOMEM. */
int copies_add(struct copies *copies, uint64_t ino, const char *path);

/* The path of the inode's copy, borrowed; NULL: none was noted. */
const char *copies_find(const struct copies *copies, uint64_t ino);

/*
 * Makes `name` in dir_fd another name of the copy at `path` below root_fd. No link is followed on the way. 0 or -errno.
 */
int copies_make(int root_fd, const char *path, int dir_fd, const char *name);

void copies_release(struct copies *copies);
#define _cleanup_copies_ __attribute__((cleanup(copies_release)))

#endif
