#include "cli/real.h"

#include <errno.h>
#include <limits.h>
#include <search.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/banned.h"

static int compare(const void *a, const void *b)
{
	return strcmp(a, b);
}

static bool is_known(const struct cli_real *real, const char *path)
{
	return tfind(path, &real->known, compare) != NULL;
}

static void add(struct cli_real *real, const char *path)
{
	char *copy = strdup(path);

	if (copy && !tsearch(copy, &real->known, compare))
		free(copy); /* without memory it is looked at again */
}

/* Whether no part of it is "", "." or "..". */
static bool is_plain(const char *path)
{
	for (const char *at = path; *at; at++)
		if (*at == '/' && (at[1] == '/' || !at[1] || (at[1] == '.' && (at[2] == '/' || !at[2] || at[2] == '.'))))
			return path[1] == '\0';
	return path[0] == '/';
}

/* 1: the path is there and has no link in it; 0: it is not there; -1: to be looked at in full. */
static int look(struct cli_real *real, const char *path)
{
	char head[PATH_MAX], target[1];
	size_t len = strlen(path);

	if (len >= sizeof(head) || !is_plain(path))
		return -1;
	memcpy(head, path, len + 1);
	for (char *end = strchr(head + 1, '/');; end = strchr(end + 1, '/')) {
		if (end)
			*end = '\0';
		if (!is_known(real, head)) {
			/* EINVAL is of something else than a link; below a file it would be ENOTDIR */
			if (readlink(head, target, sizeof(target)) >= 0)
				return -1;
			if (errno != EINVAL)
				return errno == ENOENT || errno == ENOTDIR ? 0 : -1;
			add(real, head);
		}
		if (!end)
			return 1;
		*end = '/';
	}
}

char *cli_real_path(struct cli_real *real, const char *path)
{
	int found = look(real, path);

	return found > 0 ? strdup(path) : found < 0 ? realpath(path, NULL) : NULL;
}

void cli_real_done(struct cli_real *real)
{
	tdestroy(real->known, free);
	real->known = NULL;
}
