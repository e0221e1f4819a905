#include "cli/learn/scan.h"

#include <errno.h>
#include <fts.h>
#include <glob.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "cli/learn/tier.h"
#include "policy/paths/secrets.h"

enum { RANK_PLAIN, RANK_NAME, RANK_NOT_PUBLIC, RANK_POSSIBLE, RANK_SECRET };

/* The examination of a directory tree that a rule would grant. */
struct scan {
	const struct scan_scope *scope;
	const char *root;         /* top of the directory tree that is being scanned, as a host path */
	const char *root_in_view; /* the path of `root` in the view */
	uint64_t entry_count;     /* entries examined so far */
	struct scan_found *found;
};

/* Ranks how bad it would be if others could read the file. */
static unsigned scan_rank_sensitivity(const struct scan *scan, const char *path, const struct stat *status)
{
	static const char *const telling[] = {"key", "secret", "token", "passw", "cred", "auth", "cert", "private"};
	const struct secret_pattern *secret = secret_find_pattern(scan->scope->home, path);
	const char *name = strrchr(path, '/');

	if ((secret && secret->certainty == SECRET_CERTAIN) || secret_inodes_get_kind(scan->scope->inodes, status))
		return RANK_SECRET;
	if (secret)
		return RANK_POSSIBLE;
	if (!(status->st_mode & S_IROTH))
		return RANK_NOT_PUBLIC;
	for (size_t i = 0; i < sizeof(telling) / sizeof(telling[0]); i++)
		if (strcasestr(name ? name : path, telling[i]))
			return RANK_NAME;
	return RANK_PLAIN;
}

/* Stores the name if it is among the SCAN_SENSITIVE_NAMES_MAX most sensitive names so far. */
static int scan_keep_name_if_most_sensitive(struct scan_found *found, const char *path, unsigned rank)
{
	size_t at = 0;
	char *copy;

	while (at < SCAN_SENSITIVE_NAMES_MAX && found->sensitive_names[at] && found->sensitivity_ranks[at] >= rank)
		at++;
	if (at == SCAN_SENSITIVE_NAMES_MAX)
		return 0;
	copy = strdup(path);
	if (!copy)
		return -ENOMEM;
	free(found->sensitive_names[SCAN_SENSITIVE_NAMES_MAX - 1]);
	memmove(&found->sensitive_names[at + 1], &found->sensitive_names[at],
		(SCAN_SENSITIVE_NAMES_MAX - 1 - at) * sizeof(found->sensitive_names[0]));
	memmove(&found->sensitivity_ranks[at + 1], &found->sensitivity_ranks[at],
		(SCAN_SENSITIVE_NAMES_MAX - 1 - at) * sizeof(found->sensitivity_ranks[0]));
	found->sensitive_names[at] = copy;
	found->sensitivity_ranks[at] = rank;
	return 0;
}

/* Returns the path in the view of a path of the host that the scan visits. */
static const char *scan_get_path_in_view(const struct scan *scan, const char *path, char buffer[PATH_MAX])
{
	const char *rest = scan->root_in_view ? path_get_rest_below(path, scan->root) : NULL;

	if (!rest)
		return path;
	(void)snprintf(buffer, PATH_MAX, "%s%s%s", scan->root_in_view, *rest ? "/" : "", rest);
	return buffer;
}

/* Keeps why a path should not be granted, if it is the first reason. */
static void scan_set_first_objection(struct scan *scan, const char *why)
{
	if (!scan->found->objection)
		scan->found->objection = why;
}

/*
 * Returns why a rule for a whole directory or pattern must not grant this file along with others. Static; NULL: it may.
 */
static const char *scan_find_objection(const struct scan *scan, const struct stat *status, unsigned rank, bool used)
{
	if (used && scan->scope->allows_risky)
		return NULL;
	if (rank == RANK_SECRET)
		return "it holds a secret";
	if (tier_is_private_file(status, used ? POLICY_READ : POLICY_WRITE))
		return "it holds files of another user";
	return !used && rank == RANK_NOT_PUBLIC ? "it holds files that not everybody may read" : NULL;
}

/*
 * Counts a file, and keeps its name if it is among the most sensitive ones that the program did not use. 0 or -errno.
 */
static int scan_visit_file(struct scan *scan, const char *path, const struct stat *status)
{
	const unsigned rank = scan_rank_sensitivity(scan, path, status);
	char buffer[PATH_MAX];
	const bool used = needs_have_path(scan->scope->needs, scan_get_path_in_view(scan, path, buffer));
	const char *objection = scan_find_objection(scan, status, rank, used);

	scan->found->files++;
	scan->found->used += used;
	if (objection)
		scan_set_first_objection(scan, objection);
	return used ? 0 : scan_keep_name_if_most_sensitive(scan->found, path, rank);
}

/* Objects to granting a directory that only its owner may search, because its contents are private. */
static void scan_visit_directory(struct scan *scan, const char *path, const struct stat *status)
{
	const struct secret_pattern *secret = secret_find_pattern(scan->scope->home, path);

	if (secret && secret->certainty == SECRET_CERTAIN)
		scan_set_first_objection(scan, "it holds a secret");
	if (!(status->st_mode & S_IXOTH) && (status->st_uid != geteuid() || geteuid() == 0))
		scan_set_first_objection(scan, "it holds a directory that not everybody may search");
}

/* Examines an entry. 1: there are too many entries; 0; or -errno. */
static int scan_visit_entry(struct scan *scan, const FTSENT *entry)
{
	if (++scan->entry_count > SCAN_ENTRIES_MAX) {
		scan_set_first_objection(scan, "it is too large to be looked at");
		return 1;
	}
	switch (entry->fts_info) {
	case FTS_D:
		scan_visit_directory(scan, entry->fts_path, entry->fts_statp);
		return 0;
	case FTS_F:
	case FTS_SL:
	case FTS_SLNONE:
	case FTS_DEFAULT:
		return scan_visit_file(scan, entry->fts_path, entry->fts_statp);
	case FTS_DNR:
		scan_set_first_objection(scan, "it holds a directory that cannot be looked at");
		return 0;
	default:
		return 0;
	}
}

/* Examines a directory tree that would be granted. 0 or -errno. */
static int scan_tree(struct scan *scan, const char *path)
{
	char *const paths[] = {(char *)(uintptr_t)path, NULL};
	FTS *walk = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	const FTSENT *entry;
	int r = 0;

	while (walk && r == 0 && (entry = fts_read(walk)))
		r = scan_visit_entry(scan, entry);
	if (walk)
		(void)fts_close(walk);
	return r < 0 ? r : 0;
}

/* Scans a path that glob(3) found. Skips "." and "..", which "*" also matches because of GLOB_PERIOD. */
static int scan_tree_of_glob_match(struct scan *scan, const char *path)
{
	const char *name = strrchr(path, '/');

	return !name || strcmp(name, "/.") == 0 || strcmp(name, "/..") == 0 ? 0 : scan_tree(scan, path);
}

/*
 * Escapes a pattern for glob(3). In a rule only "*" is special, for glob(3) also "[", "?" and "\\". A final "**" is
 * dropped, because the scan descends anyway. Owned; NULL: no memory.
 */
static char *scan_escape_pattern(const char *path)
{
	_cleanup_buf_ struct buf out = {0};

	for (; *path && strcmp(path, "/**") != 0; path++) {
		if (strchr("[?\\", *path))
			buf_puts(&out, "\\");
		buf_add(&out, path, 1);
	}
	return buf_take_text(&out);
}

int scan_path_to_grant(const struct scan_scope *scope, const char *path, const char *virt, struct scan_found *ret_found)
{
	struct scan scan = {.scope = scope, .root = path, .root_in_view = virt, .found = ret_found};
	_cleanup_free_ char *pattern = NULL;
	glob_t matches = {0};
	int r = 0;

	*ret_found = (struct scan_found){0};
	if (!strchr(path, '*'))
		return scan_tree(&scan, path);
	pattern = scan_escape_pattern(path);
	if (!pattern || glob(pattern, GLOB_NOSORT | GLOB_PERIOD, NULL, &matches) == GLOB_NOSPACE)
		r = -ENOMEM;
	for (size_t i = 0; r == 0 && i < matches.gl_pathc; i++)
		r = scan_tree_of_glob_match(&scan, matches.gl_pathv[i]);
	globfree(&matches);
	return r;
}

void scan_found_release(struct scan_found *found)
{
	for (size_t i = 0; i < SCAN_SENSITIVE_NAMES_MAX; i++)
		free(found->sensitive_names[i]);
	*found = (struct scan_found){0};
}
