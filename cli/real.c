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

/* True when the path is there and has no link in it. */
static bool has_no_links(struct cli_real *real, const char *path)
{
	char head[PATH_MAX], target[1];
	size_t len = strlen(path);

	if (len >= sizeof(head) || !is_plain(path))
		return false;
	memcpy(head, path, len + 1);
	for (char *end = strchr(head + 1, '/');; end = strchr(end + 1, '/')) {
		if (end)
			*end = '\0';
		if (!is_known(real, head)) {
			/* EINVAL is of something else than a link; below a file it would be ENOTDIR */
			if (readlink(head, target, sizeof(target)) >= 0 || errno != EINVAL)
				return false;
			add(real, head);
		}
		if (!end)
			return true;
		*end = '/';
	}
}

char *cli_real_path(struct cli_real *real, const char *path)
{
	return has_no_links(real, path) ? strdup(path) : realpath(path, NULL);
}

void cli_real_done(struct cli_real *real)
{
	tdestroy(real->known, free);
	real->known = NULL;
}
