#include "cli/host/real.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "policy/paths/tree.h"

#include "base/banned.h"

#define LINKS_MAX 40 /* as the kernel (MAXSYMLINKS) */

enum found {
	FOUND_PLAIN, /* exists and is not a link */
	FOUND_LINK,
	FOUND_NONE,
	FOUND_STRANGE, /* too long, too many links, or no permission to search */
};

/* A name below a canonical directory. */
struct cli_real_name {
	const struct cli_real_name *parent; /* NULL: the root */
	uint64_t hash;                      /* of the whole path */
	enum found found;
	const char *target; /* LINK */
	size_t len;
	char text[]; /* the component; not NUL-terminated */
};

/* A path being resolved. */
struct way {
	char done[PATH_MAX]; /* canonical; "" is the root */
	size_t len;
	const struct cli_real_name *at; /* the last name of `done`; NULL: the root */
	unsigned links;
	void (*passed)(void *ctx, const char *link); /* may be NULL */
	void *ctx;
};

/* ---- the table of names ---- */

/* The name's slot in the table, or the slot to put it into. */
static const struct cli_real_name **real_slot_of(const struct cli_real *real, const struct cli_real_name *parent,
						 uint64_t hash, const char *text, size_t len)
{
	for (size_t slot = hash;; slot++) {
		const struct cli_real_name **at = &real->slot[slot & (real->slots - 1)], *name = *at;

		if (!name || (name->hash == hash && name->parent == parent && name->len == len &&
			      memcmp(name->text, text, len) == 0))
			return at;
	}
}

/* At most half full. */
static bool real_make_room(struct cli_real *real)
{
	struct cli_real before = *real;

	if (real->slots > real->names * 2 + 1)
		return true;
	real->slots = before.slots ? before.slots * 2 : 512;
	real->slot = arena_alloc(&real->arena, real->slots * sizeof(*real->slot));
	if (!real->slot) {
		real->slot = before.slot;
		real->slots = before.slots;
		return false;
	}
	for (size_t i = 0; i < before.slots; i++) {
		const struct cli_real_name *name = before.slot[i];

		if (name)
			*real_slot_of(real, name->parent, name->hash, name->text, name->len) = name;
	}
	return true;
}

/* Looks up `path` in the file system. */
static enum found real_look(struct cli_real *real, const char *path, const char **ret_target)
{
	char target[PATH_MAX];
	ssize_t len = readlink(path, target, sizeof(target));

	if (len < 0) /* EINVAL: exists and is not a link */
		return errno == EINVAL                       ? FOUND_PLAIN
		       : errno == ENOENT || errno == ENOTDIR ? FOUND_NONE
							     : FOUND_STRANGE;
	if (len == 0 || (size_t)len == sizeof(target))
		return FOUND_STRANGE;
	*ret_target = arena_dupn(&real->arena, target, (size_t)len);
	return *ret_target ? FOUND_LINK : FOUND_STRANGE;
}

/* The last component of way->done, `text`, below way->at. NULL: no memory. */
static const struct cli_real_name *real_name_at(struct cli_real *real, const struct way *way, const char *text,
						size_t len)
{
	uint64_t mixed = tree_hash(text, len) ^ (way->at ? way->at->hash * UINT64_C(0xff51afd7ed558ccd) : 0);
	uint64_t hash = mixed ^ (mixed >> 29);
	const struct cli_real_name **slot, *known;
	struct cli_real_name *name;

	if (!real_make_room(real))
		return NULL;
	slot = real_slot_of(real, way->at, hash, text, len);
	known = *slot;
	if (known)
		return known;
	name = arena_alloc(&real->arena, sizeof(*name) + len);
	if (!name)
		return NULL;
	*name = (struct cli_real_name){.parent = way->at, .hash = hash, .len = len};
	memcpy(name->text, text, len);
	name->found = real_look(real, way->done, &name->target);
	*slot = name;
	real->names++;
	return name;
}

/* ---- the way ---- */

/* "..": `done` has no links, so the parent is its prefix. */
static void real_leave(struct way *way)
{
	if (!way->at)
		return;
	way->len -= way->at->len + 1;
	way->done[way->len] = '\0';
	way->at = way->at->parent;
}

static enum found real_walk(struct cli_real *real, struct way *way, const char *path);

/* Continues with a link's target, from the directory that holds the link. */
static enum found real_follow(struct cli_real *real, struct way *way, const char *target)
{
	char rooted[PATH_MAX];
	size_t len;

	if (++way->links > LINKS_MAX)
		return FOUND_STRANGE;
	if (target[0] == '/') {
		way->len = 0;
		way->at = NULL;
		way->done[0] = '\0';
		return real_walk(real, way, target);
	}
	while (strncmp(target, "../", 3) == 0) { /* way->at is a directory: no lookup is needed */
		real_leave(way);
		target += 3;
	}
	len = strlen(target);
	if (len + 2 > sizeof(rooted))
		return FOUND_STRANGE;
	rooted[0] = '/';
	memcpy(rooted + 1, target, len + 1);
	return real_walk(real, way, rooted);
}

/* "", "." and "..", which need a directory before them: "file/" and "file/.." do not exist. */
static enum found real_turn(struct way *way, const char *text, size_t len)
{
	char path[PATH_MAX + 2];

	(void)snprintf(path, sizeof(path), "%s/.", way->done);
	if (way->at && access(path, F_OK) < 0 && errno != EACCES) /* EACCES: a directory without search permission */
		return FOUND_NONE;
	if (len == 2 && text[0] == '.')
		real_leave(way);
	return FOUND_PLAIN;
}

static bool real_is_turn(const char *text, size_t len)
{
	return len == 0 || (text[0] == '.' && (len == 1 || (len == 2 && text[1] == '.')));
}

/* Adds one component other than "", "." and "..". */
static enum found real_step(struct cli_real *real, struct way *way, const char *text, size_t len)
{
	const struct cli_real_name *name;
	size_t before = way->len;
	enum found found;

	if (way->len + len + 2 > sizeof(way->done))
		return FOUND_STRANGE;
	way->done[way->len++] = '/';
	memcpy(way->done + way->len, text, len);
	way->len += len;
	way->done[way->len] = '\0';
	name = real_name_at(real, way, text, len);
	found = name ? name->found : FOUND_STRANGE;
	if (found == FOUND_PLAIN) {
		way->at = name;
		return found;
	}
	if (found == FOUND_LINK && way->passed)
		way->passed(way->ctx, way->done);
	way->len = before;
	way->done[before] = '\0';
	return found == FOUND_LINK ? real_follow(real, way, name->target) : found;
}

/* Adds the components of a path that begins with a slash. */
static enum found real_walk(struct cli_real *real, struct way *way, const char *path)
{
	enum found found = FOUND_PLAIN;
	const char *end;

	for (path++; found == FOUND_PLAIN; path = end + 1) {
		size_t len;

		end = strchrnul(path, '/');
		len = (size_t)(end - path);
		found = real_is_turn(path, len) ? real_turn(way, path, len) : real_step(real, way, path, len);
		if (!*end)
			break;
	}
	return found;
}

/* Begins at the current directory, whose name from getcwd(2) has no links. */
static bool real_begin_here(struct cli_real *real, struct way *way)
{
	char here[PATH_MAX];

	return getcwd(here, sizeof(here)) && here[0] == '/' && real_walk(real, way, here) == FOUND_PLAIN;
}

char *cli_real_way(struct cli_real *real, const char *path, void (*passed)(void *ctx, const char *link), void *ctx)
{
	struct way way;

	way.len = 0;
	way.at = NULL;
	way.links = 0;
	way.done[0] = '\0';
	way.passed = passed;
	way.ctx = ctx;
	if (!*path || (path[0] != '/' && !real_begin_here(real, &way)))
		return NULL;
	if ((path[0] == '/' ? real_walk(real, &way, path) : real_follow(real, &way, path)) != FOUND_PLAIN)
		return NULL;
	return strdup(way.len ? way.done : "/");
}

char *cli_real_path(struct cli_real *real, const char *path)
{
	return cli_real_way(real, path, NULL, NULL);
}

void cli_real_done(struct cli_real *real)
{
	arena_done(&real->arena);
	*real = (struct cli_real){0};
}
