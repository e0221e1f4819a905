/* realpath(3) for many paths that have most of their directories in common. */
#ifndef CALLGATE_CLI_REAL_H
#define CALLGATE_CLI_REAL_H

#include <stddef.h>

#include "policy/arena.h"

struct cli_real_name;

/*
 * What was found at each name that was on a way; zero-initialise to begin. Each name is looked at once, so that the
 * policy's compiler and places_judge() see the same links, whatever another run makes of them meanwhile. For speed it
 * is not needed.
 */
struct cli_real {
	struct arena arena;
	const struct cli_real_name **slot; /* a hash table */
	size_t slots;
	size_t names; /* in it */
};

/* As realpath(path, NULL); NULL: nothing there. Owned. */
char *cli_real_path(struct cli_real *real, const char *path);
/* The same, and `passed` is called with the canonical name of each symbolic link on the way, also when it leads
 * nowhere. */
char *cli_real_way(struct cli_real *real, const char *path, void (*passed)(void *ctx, const char *link), void *ctx);
void cli_real_done(struct cli_real *real);

#endif
