/* realpath(3) for many paths that have most of their directories in common. */
#ifndef CALLGATE_CLI_HOST_REAL_H
#define CALLGATE_CLI_HOST_REAL_H

#include "policy/arena.h"

#define CLI_PATH_CACHE_BUCKETS 512 /* buckets of the hash table of looked-up paths */

struct cli_path_lookup;

/*
 * A cache of path lookups; zero-initialise. Each name is looked up once, so that the policy compiler and
 * places_judge_path() see the same links even if another run changes them meanwhile. The cache is not needed for speed.
 */
struct cli_path_cache {
	struct arena arena;
	struct cli_path_lookup *bucket[CLI_PATH_CACHE_BUCKETS]; /* a hash table of canonical paths */
};

/* As realpath(path, NULL); NULL: the path does not exist. Owned. */
char *cli_resolve_real_path(struct cli_path_cache *real, const char *path);
/* As cli_resolve_real_path. Calls `passed` with each symbolic link's canonical path, even if the link leads nowhere. */
char *cli_resolve_real_path_noting_links(struct cli_path_cache *real, const char *path,
					 void (*passed)(void *ctx, const char *link), void *ctx);
void cli_path_cache_release(struct cli_path_cache *real);

#endif
