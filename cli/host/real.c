#include "cli/host/real.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "policy/paths/tree.h"

#define REAL_LINKS_FOLLOWED_MAX 40 /* symbolic links followed in one path: the kernel's limit (MAXSYMLINKS) */

/* The cached lookup of a path whose directory is canonical. */
struct cli_path_lookup {
	struct cli_path_lookup *next; /* next entry of the same hash bucket */
	bool object_exists;                /* the path exists, and this process may look it up */
	const char *link_target;         /* target of the symbolic link; NULL: the path is no symbolic link */
	char path[];
};

/* The state of resolving one path. */
struct real_walk {
	char resolved_part[PATH_MAX]; /* the resolved part of the path; "": the root directory */
	size_t len;
	unsigned link_count;                         /* symbolic links followed so far */
	void (*passed)(void *ctx, const char *link); /* called for each symbolic link; may be NULL */
	void *ctx;
};

/* Looks up name->path in the file system: whether the path exists, and its target if it is a symbolic link. */
static void real_look_up(struct cli_path_cache *real, struct cli_path_lookup *name)
{
	char target[PATH_MAX];
	ssize_t len = readlink(name->path, target, sizeof(target));

	if (len > 0 && (size_t)len < sizeof(target))
		name->link_target = arena_dupn(&real->arena, target, (size_t)len);
	/* EINVAL: the path exists and is no link */
	name->object_exists = name->link_target || (len < 0 && errno == EINVAL);
}

/* Returns the lookup of the path walk->resolved_part, from the cache or made now. NULL: no memory. */
static const struct cli_path_lookup *real_find_lookup(struct cli_path_cache *real, const struct real_walk *walk)
{
	struct cli_path_lookup **bucket =
		&real->bucket[(path_tree_hash_name(walk->resolved_part, walk->len) >> 48) % CLI_PATH_CACHE_BUCKETS];
	struct cli_path_lookup *name = *bucket;

	while (name && strcmp(name->path, walk->resolved_part) != 0)
		name = name->next;
	if (name)
		return name;
	name = arena_alloc(&real->arena, sizeof(*name) + walk->len + 1);
	if (!name)
		return NULL;
	memcpy(name->path, walk->resolved_part, walk->len + 1);
	real_look_up(real, name);
	name->next = *bucket;
	*bucket = name;
	return name;
}

/* Shortens the resolved part of the path, as for "..". */
static void real_truncate_path(struct real_walk *walk, size_t len)
{
	walk->len = len;
	walk->resolved_part[len] = '\0';
}

/* Resolves "..": `resolved_part` has no links, so the parent directory is a prefix of it. */
static void real_walk_to_parent(struct real_walk *walk)
{
	if (walk->len)
		real_truncate_path(walk, (size_t)(strrchr(walk->resolved_part, '/') - walk->resolved_part));
}

static bool real_walk_absolute_path(struct cli_path_cache *real, struct real_walk *walk, const char *path);

/* Continues with a link's target, from the directory that holds the link. */
static bool real_follow_link(struct cli_path_cache *real, struct real_walk *walk, const char *target)
{
	char rooted[PATH_MAX];

	if (++walk->link_count > REAL_LINKS_FOLLOWED_MAX)
		return false;
	if (target[0] == '/') {
		real_truncate_path(walk, 0);
		return real_walk_absolute_path(real, walk, target);
	}
	/* `resolved_part` is known to be a directory, so "../" needs no lookup */
	while (strncmp(target, "../", 3) == 0) {
		real_walk_to_parent(walk);
		target += 3;
	}
	return (size_t)snprintf(rooted, sizeof(rooted), "/%s", target) < sizeof(rooted) &&
	       real_walk_absolute_path(real, walk, rooted);
}

/* Adds a component "", "." or "..", which is valid only after a directory: "file/" and "file/.." do not exist. */
static bool real_walk_dot_component(struct real_walk *walk, const char *text, size_t len)
{
	char path[PATH_MAX + 2];

	(void)snprintf(path, sizeof(path), "%s/.", walk->resolved_part);
	if (walk->len && access(path, F_OK) < 0 && errno != EACCES) /* EACCES: a directory without search permission */
		return false;
	if (len == 2 && text[0] == '.')
		real_walk_to_parent(walk);
	return true;
}

/* True for "", "." and "..", by which a path names no entry of a directory. */
static bool real_is_dot_component(const char *text, size_t len)
{
	return len == 0 || (text[0] == '.' && (len == 1 || (len == 2 && text[1] == '.')));
}

/* Adds one component other than "", "." and "..". */
static bool real_walk_component(struct cli_path_cache *real, struct real_walk *walk, const char *text, size_t len)
{
	const struct cli_path_lookup *name;
	size_t before = walk->len;

	if (before + len + 2 > sizeof(walk->resolved_part))
		return false;
	walk->resolved_part[before] = '/';
	memcpy(walk->resolved_part + before + 1, text, len);
	real_truncate_path(walk, before + 1 + len);
	name = real_find_lookup(real, walk);
	if (!name || !name->object_exists || !name->link_target)
		return name && name->object_exists;
	if (walk->passed)
		walk->passed(walk->ctx, walk->resolved_part);
	real_truncate_path(walk, before);
	return real_follow_link(real, walk, name->link_target);
}

/* Adds the components of a path that begins with a slash. */
static bool real_walk_absolute_path(struct cli_path_cache *real, struct real_walk *walk, const char *path)
{
	const char *end;

	do {
		size_t len;

		end = strchrnul(++path, '/');
		len = (size_t)(end - path);
		if (!(real_is_dot_component(path, len) ? real_walk_dot_component(walk, path, len)
						       : real_walk_component(real, walk, path, len)))
			return false;
		path = end;
	} while (*end);
	return true;
}

/* Starts at the current directory, whose name from getcwd(2) has no links. */
static bool real_begin_in_cwd(struct cli_path_cache *real, struct real_walk *walk)
{
	char here[PATH_MAX];

	return getcwd(here, sizeof(here)) && here[0] == '/' && real_walk_absolute_path(real, walk, here);
}

char *cli_resolve_real_path_noting_links(struct cli_path_cache *real, const char *path,
					 void (*passed)(void *ctx, const char *link), void *ctx)
{
	struct real_walk walk = {.passed = passed, .ctx = ctx};

	if (!*path || (path[0] != '/' && !real_begin_in_cwd(real, &walk)))
		return NULL;
	if (!(path[0] == '/' ? real_walk_absolute_path(real, &walk, path) : real_follow_link(real, &walk, path)))
		return NULL;
	return strdup(walk.len ? walk.resolved_part : "/");
}

char *cli_resolve_real_path(struct cli_path_cache *real, const char *path)
{
	return cli_resolve_real_path_noting_links(real, path, NULL, NULL);
}

void cli_path_cache_release(struct cli_path_cache *real)
{
	arena_release(&real->arena);
	*real = (struct cli_path_cache){0};
}
