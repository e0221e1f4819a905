#include <errno.h>
#include <string.h>

#include "policy/paths/glob.h"

bool glob_is_wild(const char *name, size_t len)
{
	return memchr(name, '*', len) != NULL;
}

/* Finds what kind a pattern's component is. -EINVAL: it is empty, or has "**" beside other text. */
static int glob_compile_part(const char *name, size_t len, struct glob_part *part)
{
	bool deep = memmem(name, len, "**", 2);

	*part = (struct glob_part){deep                      ? GLOB_ANY_NAMES
				   : glob_is_wild(name, len) ? GLOB_NAME_WITH_STAR
							     : GLOB_LITERAL,
				   name, len};
	if (len == 1 && part->kind == GLOB_NAME_WITH_STAR)
		part->kind = GLOB_ONE_ANY_NAME;
	return len == 0 || (deep && len != 2) ? -EINVAL : 0;
}

int glob_compile(struct arena *arena, const char *pattern, bool below, struct glob *ret_glob)
{
	struct glob_part part[GLOB_PARTS_MAX + 1], *copy;
	size_t parts = 0;
	const char *end;
	int ret;

	for (;; pattern = end + 1) {
		end = strchrnul(pattern, '/');
		if (parts == GLOB_PARTS_MAX)
			return -E2BIG;
		ret = glob_compile_part(pattern, (size_t)(end - pattern), &part[parts]);
		if (ret < 0)
			return ret;
		/* a second "**" in a row adds nothing */
		if (part[parts].kind != GLOB_ANY_NAMES || parts == 0 || part[parts - 1].kind != GLOB_ANY_NAMES)
			parts++;
		if (!*end)
			break;
	}
	if (below && part[parts - 1].kind != GLOB_ANY_NAMES)
		part[parts++] = (struct glob_part){GLOB_ANY_NAMES, "**", 2};
	copy = arena_alloc(arena, parts * sizeof(*copy));
	if (!copy)
		return -ENOMEM;
	memcpy(copy, part, parts * sizeof(*copy));
	*ret_glob = (struct glob){copy, parts};
	return 0;
}

/*
 * Greedy matching that backtracks only to the last star. The stars before it already match as far left as possible, so
 * making them match more cannot help. At most len * pattern_len steps.
 */
static bool glob_matches_wildcard(const char *pattern, size_t pattern_len, const char *name, size_t len)
{
	size_t at = 0, in = 0, star = (size_t)-1, retry = 0;

	while (in < len) {
		if (at < pattern_len && pattern[at] == '*') {
			star = at++;
			retry = in;
		} else if (at < pattern_len && pattern[at] == name[in]) {
			at++;
			in++;
		} else if (star != (size_t)-1) {
			at = star + 1;
			in = ++retry;
		} else {
			return false;
		}
	}
	while (at < pattern_len && pattern[at] == '*')
		at++;
	return at == pattern_len;
}

bool glob_part_matches(const struct glob_part *part, const char *name, size_t len)
{
	switch (part->kind) {
	case GLOB_LITERAL:
		return len == part->len && memcmp(name, part->text, len) == 0;
	case GLOB_NAME_WITH_STAR:
		return glob_matches_wildcard(part->text, part->len, name, len);
	case GLOB_ONE_ANY_NAME:
	case GLOB_ANY_NAMES:
		return true;
	}
	return false;
}

/* Returns the length of the component at `at`. *ret_next is the start of the next (len + 1 after the last). */
static size_t glob_get_component_len(const char *path, size_t len, size_t at, size_t *ret_next)
{
	const char *slash = memchr(path + at, '/', len - at);
	size_t size = slash ? (size_t)(slash - (path + at)) : len - at;

	*ret_next = at + size + 1;
	return size;
}

bool glob_matches(const struct glob *glob, const char *path, size_t len)
{
	size_t at = 0, in = 0, next, size, deep = (size_t)-1, retry = 0;

	if (len == 0)
		in = 1; /* an empty path has no component */
	while (in <= len) {
		size = glob_get_component_len(path, len, in, &next);
		if (at < glob->part_count && glob->part[at].kind == GLOB_ANY_NAMES) {
			deep = at++;
			retry = in;
			if (at == glob->part_count)
				return true; /* a final "**" matches the rest */
		} else if (at < glob->part_count && glob_part_matches(&glob->part[at], path + in, size)) {
			at++;
			in = next;
		} else if (deep != (size_t)-1) { /* backtrack: the last "**" takes one more component */
			at = deep + 1;
			(void)glob_get_component_len(path, len, retry, &next);
			in = retry = next;
		} else {
			return false;
		}
	}
	while (at < glob->part_count && glob->part[at].kind == GLOB_ANY_NAMES)
		at++;
	return at == glob->part_count;
}

bool glob_may_match_below(const struct glob *glob, const char *path, size_t len)
{
	size_t at = 0, in = len == 0 ? 1 : 0, next, size;

	for (; in <= len; at++, in = next) {
		if (at == glob->part_count)
			return false;
		if (glob->part[at].kind == GLOB_ANY_NAMES)
			return true;
		size = glob_get_component_len(path, len, in, &next);
		if (!glob_part_matches(&glob->part[at], path + in, size))
			return false;
	}
	return true;
}
