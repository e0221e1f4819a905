#include "syscalls/exec/fixed-name.h"

#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "policy/policy.h"

#define IMMUTABLE_PATH_LINKS_MAX 40u  /* MAXSYMLINKS of the kernel */
#define IMMUTABLE_PATH_BYTES_MAX 128u  /* bytes; longer paths do not count as immutable */
#define IMMUTABLE_PATHS_CACHED_MAX 64u /* paths remembered with where they lead */

/* A walk along a path from "/". Links in procfs lead each process elsewhere, so no path there counts as immutable. */
struct immutable_path_walk {
	char resolved_path[PATH_MAX]; /* canonical path of what was walked; "" for the root */
	char remaining_path[PATH_MAX]; /* what is still to be walked */
	unsigned link_count;           /* links followed so far */
};

/* A path of which is known whether the run can change where it leads. */
struct immutable_path {
	char text[IMMUTABLE_PATH_BYTES_MAX]; /* "": the slot is unused */
	char virt[IMMUTABLE_PATH_BYTES_MAX]; /* canonical virtual path; "": the run can change where `text` leads */
};

static _Thread_local struct immutable_path cache[IMMUTABLE_PATHS_CACHED_MAX];

/*
 * Puts the target of a link, which is the last name of `resolved_path`, in front of `remaining_path`. False: too long,
 * or too many links.
 */
static bool immutable_walk_follow_link(struct immutable_path_walk *walk, const char *target)
{
	char rest[PATH_MAX];

	if (++walk->link_count > IMMUTABLE_PATH_LINKS_MAX ||
	    snprintf(rest, sizeof(rest), "%s/%s", target, walk->remaining_path) >= (int)sizeof(rest))
		return false;
	memcpy(walk->remaining_path, rest, strlen(rest) + 1);
	*(*target == '/' ? walk->resolved_path : strrchr(walk->resolved_path, '/')) = '\0';
	return true;
}

/* Walks the name at `name`, which has `len` bytes and no slash. False: it may be written, or cannot be looked up. */
static bool immutable_walk_enter_name(struct immutable_path_walk *walk, const struct policy *policy, const char *name,
				      size_t len)
{
	size_t at = strlen(walk->resolved_path);
	char target[PATH_MAX];
	ssize_t got;

	if (at + 1 + len >= sizeof(walk->resolved_path) || (len == 2 && memcmp(name, "..", 2) == 0))
		return false;
	walk->resolved_path[at] = '/';
	memcpy(walk->resolved_path + at + 1, name, len);
	walk->resolved_path[at + 1 + len] = '\0';
	if (strcmp(walk->resolved_path, "/proc") == 0 ||
	    policy_get_rights(policy, walk->resolved_path, at + 1 + len) & POLICY_WRITE)
		return false;
	got = readlink(walk->resolved_path, target, sizeof(target) - 1);
	if (got < 0)
		return errno == EINVAL; /* EINVAL: the name is no symbolic link */
	target[got] = '\0';
	return immutable_walk_follow_link(walk, target);
}

/* Walks `text`. False: the run can change where it leads. Otherwise walk->resolved_path is the canonical path. */
static bool immutable_walk_whole_path(struct immutable_path_walk *walk, const struct policy *policy, const char *text)
{
	if (*text != '/' || policy_get_rights(policy, "/", 1) & POLICY_WRITE ||
	    snprintf(walk->remaining_path, sizeof(walk->remaining_path), "%s", text) >=
		    (int)sizeof(walk->remaining_path))
		return false;
	for (;;) {
		const char *name = walk->remaining_path + strspn(walk->remaining_path, "/");
		char step[NAME_MAX + 1];
		size_t len = strcspn(name, "/");

		if (len == 0)
			return true;
		if (len >= sizeof(step))
			return false;
		memcpy(step, name, len);
		memmove(walk->remaining_path, name + len, strlen(name + len) + 1);
		if (!(len == 1 && *step == '.') && !immutable_walk_enter_name(walk, policy, step, len))
			return false;
	}
}

/* The only slot that may have this path; it may have another one. */
static struct immutable_path *immutable_path_get_cache_slot(const char *text)
{
	uint32_t hash = 5381;

	while (*text)
		hash = hash * 33 ^ (unsigned char)*text++;
	return &cache[hash % IMMUTABLE_PATHS_CACHED_MAX];
}

bool exec_path_is_immutable(const struct policy *policy, const char *text, const char *virt)
{
	struct immutable_path *known = immutable_path_get_cache_slot(text);

	if (!*text || strlen(text) >= IMMUTABLE_PATH_BYTES_MAX)
		return false;
	if (strcmp(known->text, text) != 0) {
		struct immutable_path_walk walk = {.link_count = 0};
		size_t len = immutable_walk_whole_path(&walk, policy, text) ? strlen(walk.resolved_path) : 0;

		if (len >= IMMUTABLE_PATH_BYTES_MAX)
			len = 0; /* counts as not immutable */
		(void)snprintf(known->text, sizeof(known->text), "%s", text);
		memcpy(known->virt, walk.resolved_path, len);
		known->virt[len] = '\0';
	}
	return known->virt[0] && strcmp(known->virt, virt) == 0;
}
