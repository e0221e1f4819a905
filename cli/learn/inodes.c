#include "cli/learn/inodes.h"

#include <errno.h>
#include <fts.h>
#include <glob.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "policy/paths/secrets.h"

/* most entries that are examined for all secrets together: the profile of a browser is large */
#define SECRET_INODES_FILES_EXAMINED_MAX 100000u

/* A file with secrets, known by its inode under every name. */
struct secret_inode {
	dev_t dev;
	ino_t ino;
	const char *kind; /* kind of the secret, for messages; static */
};

/* Secrets with several hard links, which must not be granted by another name. */
struct secret_inodes {
	struct secret_inode *files_found;
	size_t files, room;
	size_t examined_entry_count; /* looked at */
};

static int secret_inodes_add_file(struct secret_inodes *inodes, const struct stat *status, const char *kind)
{
	if (!S_ISREG(status->st_mode) || status->st_nlink < 2)
		return 0;
	if (!array_reserve(&inodes->files_found, inodes->files, &inodes->room))
		return -ENOMEM;
	inodes->files_found[inodes->files++] =
		(struct secret_inode){.dev = status->st_dev, .ino = status->st_ino, .kind = kind};
	return 0;
}

static int secret_inodes_add_tree(struct secret_inodes *inodes, char *path, const char *kind)
{
	char *const paths[] = {path, NULL};
	FTS *walk = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, NULL);
	const FTSENT *entry;
	int r = 0;

	while (walk && r == 0 && inodes->examined_entry_count++ < SECRET_INODES_FILES_EXAMINED_MAX &&
	       (entry = fts_read(walk)))
		if (entry->fts_info == FTS_F)
			r = secret_inodes_add_file(inodes, entry->fts_statp, kind);
	if (walk)
		(void)fts_close(walk);
	return r;
}

/* Adds the files that the pattern `name` matches in `dir`, which may contain "*" itself. */
static int secret_inodes_add_matches(struct secret_inodes *inodes, const char *dir, const char *name,
				     const struct secret_pattern *secret)
{
	char pattern[PATH_MAX];
	glob_t matches = {0};
	int r = 0, len = snprintf(pattern, sizeof(pattern), "%s/%s", dir, name);

	if (len < 0 || (size_t)len >= sizeof(pattern))
		return 0;
	if (glob(pattern, GLOB_NOSORT, NULL, &matches) == GLOB_NOSPACE)
		r = -ENOMEM;
	for (size_t i = 0; r == 0 && i < matches.gl_pathc; i++)
		r = secret_inodes_add_tree(inodes, matches.gl_pathv[i], secret->kind);
	globfree(&matches);
	return r;
}

/* Adds the files that a pattern of secrets matches in homes, in `places`, or at its absolute path. 0 or -errno. */
static int secret_inodes_add_pattern(struct secret_inodes *inodes, const char *home, const char *const *places,
				     const struct secret_pattern *secret)
{
	const char *const homes[] = {"/root", "/home/*", home && home[1] ? home : NULL};
	const char *name = secret->pattern[0] == '~' ? secret->pattern + 2 : secret->pattern;
	int r = 0;

	if (name[0] == '/')
		return secret_inodes_add_matches(inodes, "", name + 1, secret);
	for (size_t i = 0; r == 0 && i < sizeof(homes) / sizeof(homes[0]); i++)
		r = homes[i] ? secret_inodes_add_matches(inodes, homes[i], name, secret) : 0;
	for (; r == 0 && places && *places && secret->pattern[0] != '~'; places++)
		r = secret_inodes_add_matches(inodes, *places, name, secret);
	return r;
}

int secret_inodes_find(const char *home, const char *const *places, struct secret_inodes **ret_inodes)
{
	struct secret_inodes *inodes = calloc(1, sizeof(*inodes));
	size_t count;
	const struct secret_pattern *secret = secrets_get_patterns(&count);
	int r = inodes ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < count; i++)
		if (secret[i].certainty == SECRET_CERTAIN)
			r = secret_inodes_add_pattern(inodes, home, places, &secret[i]);
	if (r < 0)
		secret_inodes_free(inodes);
	else
		*ret_inodes = inodes;
	return r;
}

void secret_inodes_free(struct secret_inodes *inodes)
{
	if (!inodes)
		return;
	free(inodes->files_found);
	free(inodes);
}

const char *secret_inodes_get_kind(const struct secret_inodes *inodes, const struct stat *status)
{
	if (!inodes || status->st_nlink < 2)
		return NULL;
	for (size_t i = 0; i < inodes->files; i++)
		if (inodes->files_found[i].ino == status->st_ino && inodes->files_found[i].dev == status->st_dev)
			return inodes->files_found[i].kind;
	return NULL;
}
