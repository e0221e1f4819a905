/* The view on its way to being real: between view-attach.c and view-rebase.c. */
#ifndef CALLGATE_VIEW_ATTACH_H
#define CALLGATE_VIEW_ATTACH_H

#include <linux/openat2.h>

#include "view/private.h"

#define RESOLVE_STRICT (RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS)

/* One mount of the view on its way. */
struct piece {
	struct mount *mount;
	int copy_fd;    /* of what it shows; -1: nothing is there (any more), or another mount stands at its name */
	bool kept;      /* the mount is held by copy_fd, which is the view's */
	bool own;       /* in the skeleton already */
	bool elsewhere; /* its name does not exist in the host tree around it */
};

struct attach {
	struct view *view;
	int tmpfs_fd;
	int own_proc_fd;     /* the supervisor's, apart from the program's; -1: the same */
	int root_fd;         /* the program's "/" */
	int more_fd;         /* where what has no place goes; -1: nothing did yet */
	const char *more;    /* its path */
	struct piece *piece; /* parents first */
	size_t pieces;
	const char *what;
};

/* Remembers what could not be done; returns error. */
static inline int attach_failed(struct attach *attach, int error, const char *what)
{
	attach->what = what;
	return error;
}

/* Opens all of the view anew below attach->root_fd, and names it as the program does. 0 or -errno. */
int view_rebase(struct attach *attach);

#endif
