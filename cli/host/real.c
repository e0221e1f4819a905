#include "cli/host/real.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "policy/paths/tree.h"

#define LINKS_MAX 40 /* the kernel's limit (MAXSYMLINKS) */

/* What was found at a path whose directory is canonical. */
struct cli_real_name {
	struct cli_real_name *next; /* in the same bucket */
	bool exists;                /* and may be looked up */
	const char *target;         /* of a symbolic link; NULL: not a symbolic link */
	char path[];
};

/* A path being resolved. */
struct way {
	char done[PATH_MAX]; /* canonical; "" is the root */
	size_t len;
	unsigned links;
	void (*passed)(void *ctx, const char *link); /* may be NULL */
	void *ctx;
};

/* Looks up the name's path in the file system. */
static void real_look_up(struct cli_real *real, struct cli_real_name *name)
{
	char target[PATH_MAX];
	ssize_t len = readlink(name->path, target, sizeof(target));

	if (len > 0 && (size_t)len < sizeof(target))
		name->target = arena_dupn(&real->arena, target, (size_t)len);
	name->exists = name->target || (len < 0 && errno == EINVAL); /* EINVAL: it is not a link */
}

/* The name at way->done. NULL: no memory. */
static const struct cli_real_name *real_find_name(struct cli_real *real, const struct way *way)
{
	struct cli_real_name **bucket = &real->bucket[(tree_hash_name(way->done, way->len) >> 48) % CLI_REAL_BUCKETS];
	struct cli_real_name *name = *bucket;

	while (name && strcmp(name->path, way->done) != 0)
		name = name->next;
	if (name)
		return name;
	name = arena_alloc(&real->arena, sizeof(*name) + way->len + 1);
	if (!name)
		return NULL;
	memcpy(name->path, way->done, way->len + 1);
	real_look_up(real, name);
	name->next = *bucket;
	*bucket = name;
	return name;
}

static void real_truncate_path(struct way *way, size_t len)
{
	way->len = len;
	way->done[len] = '\0';
}

/* "..": `done` has no links, so the parent is its prefix. */
static void real_leave_directory(struct way *way)
{
	if (way->len)
		real_truncate_path(way, (size_t)(strrchr(way->done, '/') - way->done));
}

static bool real_add_path(struct cli_real *real, struct way *way, const char *path);

/* Continues with a link's target, from the directory that holds the link. */
static bool real_follow_link(struct cli_real *real, struct way *way, const char *target)
{
	char rooted[PATH_MAX];

	if (++way->links > LINKS_MAX)
		return false;
	if (target[0] == '/') {
		real_truncate_path(way, 0);
		return real_add_path(real, way, target);
	}
	while (strncmp(target, "../", 3) == 0) { /* `done` is a directory: no lookup is needed */
		real_leave_directory(way);
		target += 3;
	}
	return (size_t)snprintf(rooted, sizeof(rooted), "/%s", target) < sizeof(rooted) &&
	       real_add_path(real, way, rooted);
}

/* "", "." and "..", which need a directory before them: "file/" and "file/.." do not exist. */
static bool real_add_dot_component(struct way *way, const char *text, size_t len)
{
	char path[PATH_MAX + 2];

	(void)snprintf(path, sizeof(path), "%s/.", way->done);
	if (way->len && access(path, F_OK) < 0 && errno != EACCES) /* EACCES: a directory without search permission */
		return false;
	if (len == 2 && text[0] == '.')
		real_leave_directory(way);
	return true;
}

static bool real_is_dot_component(const char *text, size_t len)
{
	return len == 0 || (text[0] == '.' && (len == 1 || (len == 2 && text[1] == '.')));
}

/* Adds one component other than "", "." and "..". */
static bool real_add_component(struct cli_real *real, struct way *way, const char *text, size_t len)
{
	const struct cli_real_name *name;
	size_t before = way->len;

	if (before + len + 2 > sizeof(way->done))
		return false;
	way->done[before] = '/';
	memcpy(way->done + before + 1, text, len);
	real_truncate_path(way, before + 1 + len);
	name = real_find_name(real, way);
	if (!name || !name->exists || !name->target)
		return name && name->exists;
	if (way->passed)
		way->passed(way->ctx, way->done);
	real_truncate_path(way, before);
	return real_follow_link(real, way, name->target);
}

/* Adds the components of a path that begins with a slash. */
static bool real_add_path(struct cli_real *real, struct way *way, const char *path)
{
	const char *end;

	do {
		size_t len;

		end = strchrnul(++path, '/');
		len = (size_t)(end - path);
		if (!(real_is_dot_component(path, len) ? real_add_dot_component(way, path, len)
						       : real_add_component(real, way, path, len)))
			return false;
		path = end;
	} while (*end);
	return true;
}

/* Begins at the current directory, whose name from getcwd(2) has no links. */
static bool real_begin_in_cwd(struct cli_real *real, struct way *way)
{
	char here[PATH_MAX];

	return getcwd(here, sizeof(here)) && here[0] == '/' && real_add_path(real, way, here);
}

char *cli_real_resolve_noting_links(struct cli_real *real, const char *path,
				    void (*passed)(void *ctx, const char *link), void *ctx)
{
	struct way way = {.passed = passed, .ctx = ctx};

	if (!*path || (path[0] != '/' && !real_begin_in_cwd(real, &way)))
		return NULL;
	if (!(path[0] == '/' ? real_add_path(real, &way, path) : real_follow_link(real, &way, path)))
		return NULL;
	return strdup(way.len ? way.done : "/");
}

char *cli_real_resolve_path(struct cli_real *real, const char *path)
{
	return cli_real_resolve_noting_links(real, path, NULL, NULL);
}

void cli_real_release(struct cli_real *real)
{
	arena_release(&real->arena);
	*real = (struct cli_real){0};
}
