#include "cli/learn/fold.h"

#include <errno.h>
#include <fts.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/learn/pattern.h"
#include "cli/learn/tier.h"
#include "cli/learn/units.h"
#include "policy/paths/secrets.h"

/* How many files of one place become one rule. */
#define FOLD_PACKAGE_FILES 2u
#define FOLD_LIBRARY_FILES 3u
#define FOLD_PROGRAMS 4u
#define FOLD_NUMBERED 2u
#define FOLD_SUFFIX 4u

/* A file that is still to be granted. */
struct fold_item {
	const struct unmet *unmet;
	const char *path;    /* in the view; as a rule would name it */
	char *key;           /* items with equal keys become one rule in the present step; owned; NULL: the item stays alone */
	const char *package; /* of the unit in `key` */
	bool done;
};

struct fold {
	struct draft *draft;
	const struct needs *needs;
	const struct packages *packages;
	const struct fold_place *place;
	struct fold_item *item;
	size_t items;
};

/* ---- names ---- */

static const char *fold_get_rest_in_workdir(const struct fold *fold, const char *path)
{
	return fold->place->workdir ? path_rest_below(path, fold->place->workdir) : NULL;
}

/* The host path of a name in the view. */
static void fold_get_host_path(const struct fold *fold, const char *path, char host[PATH_MAX])
{
	const char *rest = fold_get_rest_in_workdir(fold, path), *top = fold->place->workdir_host;

	if (rest && top)
		(void)snprintf(host, PATH_MAX, "%s%s%s", top, *rest ? "/" : "", rest);
	else
		(void)snprintf(host, PATH_MAX, "%s", path);
}

/* As a policy writes the path: below @workdir or ~, with "$" escaped. Owned; NULL: no memory. */
static char *fold_write_path(const struct fold *fold, const char *path)
{
	const char *rest = fold_get_rest_in_workdir(fold, path), *home = fold->place->home;
	const char *in_home = home && home[1] ? path_rest_below(path, home) : NULL;
	const char *top = rest			? "@workdir"
			  : in_home && *in_home ? "~"
						: "",
		   *tail = rest	  ? rest
			   : *top ? in_home
				  : path;

	return pattern_escape(top, tail);
}

/* False: no rule can name it. Notes why. */
static int fold_refuse_unwritable(const struct fold *fold, const struct unmet *unmet, bool *ret_refused)
{
	const char *path = unmet->need->path;
	const char *why = !text_is_utf8(path, strlen(path)) ? "a policy is UTF-8, and the name is not"
			  : strchr(path, '*')               ? "in a rule \"*\" stands for any text"
							    : NULL;

	*ret_refused = why != NULL;
	return why ? draft_add_refused(fold->draft, unmet->right, text_is_utf8(path, strlen(path)) ? path : "?", why)
		   : 0;
}

/* ---- rules ---- */

/* Adds a rule with the reason of one need. `also`: scan what it grants beside. */
static int fold_add_rule(const struct fold *fold, unsigned right, const char *path, char *because, bool also,
			 const char *disabled)
{
	_cleanup_free_ char *written = fold_write_path(fold, path);
	struct scan_found found = {0};
	char host[PATH_MAX];
	int r = 0;

	fold_get_host_path(fold, path, host);
	if (also)
		r = scan_grant(fold->needs, fold->place->home, host, fold_get_rest_in_workdir(fold, path) ? path : NULL,
			       &found);
	if (r == 0 && written)
		r = draft_add_path(fold->draft, right, written, because, also ? &found : NULL, disabled);
	else
		free(because);
	scan_found_release(&found);
	return written ? r : -ENOMEM;
}

/* The reason of a rule for several items. Owned; NULL: no memory. */
static char *fold_explain_group(const struct fold_item *item, size_t count, const char *of)
{
	const struct need_origin *first = &item[0].unmet->need->origin;
	_cleanup_free_ char *one = NULL;
	uint64_t records = 0;

	for (size_t i = 0; i < count; i++) {
		const struct need_origin *origin = &item[i].unmet->need->origin;

		records += origin->count;
		if (!origin->text && (first->text || origin->first < first->first))
			first = origin;
	}
	one = need_explain(first);
	return one ? cli_format("%zu names %s%s%" PRIu64 " records; %s", count, of, *of ? ", " : "", records, one)
		   : NULL;
}

/* ---- tiers ---- */

/* Adds what must not be granted as a rule that is left out, or notes it. *ret_done: it is dealt with. */
static int fold_sort_by_tier(const struct fold *fold, const struct unmet *unmet, bool *ret_done)
{
	const char *why, *path = unmet->need->path;
	char host[PATH_MAX];
	enum tier tier;
	int r;

	*ret_done = true;
	fold_get_host_path(fold, path, host);
	tier = fold_get_rest_in_workdir(fold, path) && !secret_find_pattern(fold->place->home, path)
		       ? TIER_GRANTED
		       : tier_find(fold->place->home, path, unmet->right, &why);
	*ret_done = tier != TIER_GRANTED;
	if (tier == TIER_NEVER)
		return draft_add_refused(fold->draft, unmet->right, path, why);
	if (tier != TIER_RISKY)
		return 0;
	if (!fold->place->risky && draft_add_left(fold->draft, path) < 0)
		return -ENOMEM;
	r = fold_add_rule(fold, unmet->right, path, need_explain(&unmet->need->origin), false,
			  fold->place->risky ? NULL : why);
	return r;
}

/* ---- groups ---- */

static int fold_compare_items(const void *a, const void *b)
{
	const struct fold_item *left = a, *right = b;
	int r;

	if (!left->key || !right->key)
		return !!right->key - !!left->key;
	r = strcmp(left->key, right->key);
	if (r == 0)
		r = (left->unmet->right > right->unmet->right) - (left->unmet->right < right->unmet->right);
	return r ? r : strcmp(left->path, right->path);
}

static void fold_clear_keys(struct fold *fold)
{
	for (size_t i = 0; i < fold->items; i++) {
		free(fold->item[i].key);
		fold->item[i].key = NULL;
	}
}

/* Calls `take` for each group of items with one key and right. 0 or the first error. */
static int fold_visit_groups(struct fold *fold, int (*take)(struct fold *fold, struct fold_item *item, size_t count))
{
	int r = 0;

	if (fold->items)
		qsort(fold->item, fold->items, sizeof(*fold->item), fold_compare_items);
	for (size_t i = 0, end; r == 0 && i < fold->items && fold->item[i].key; i = end) {
		for (end = i + 1; end < fold->items && fold->item[end].key &&
				  strcmp(fold->item[end].key, fold->item[i].key) == 0 &&
				  fold->item[end].unmet->right == fold->item[i].unmet->right;)
			end++;
		r = take(fold, &fold->item[i], end - i);
	}
	fold_clear_keys(fold);
	return r;
}

static void fold_mark_done(struct fold_item *item, size_t count)
{
	for (size_t i = 0; i < count; i++)
		item[i].done = true;
}

/* Adds one rule for a group unless what it would grant beside forbids that. */
static int fold_try_group(struct fold *fold, struct fold_item *item, size_t count, const char *path, char *because)
{
	const char *virt = fold_get_rest_in_workdir(fold, path) ? path : NULL, *why;
	_cleanup_free_ char *written = fold_write_path(fold, path), *owned = because;
	struct scan_found found = {0};
	char host[PATH_MAX];
	int r;

	if (!written || !because)
		return -ENOMEM;
	if (tier_find(fold->place->home, path, item->unmet->right, &why) != TIER_GRANTED)
		return 0;
	fold_get_host_path(fold, path, host);
	r = scan_grant(fold->needs, fold->place->home, host, virt, &found);
	if (r == 0 && !found.objection) {
		r = draft_add_path(fold->draft, item->unmet->right, written, steal_pointer(&owned), &found, NULL);
		fold_mark_done(item, count);
	}
	scan_found_release(&found);
	return r;
}

static int fold_take_unit(struct fold *fold, struct fold_item *item, size_t count)
{
	const size_t least = item->unmet->right == POLICY_EXEC ? FOLD_PROGRAMS
			     : item->package                   ? FOLD_PACKAGE_FILES
							       : FOLD_LIBRARY_FILES;
	_cleanup_free_ char *of = item->package ? cli_format("of package %s", item->package) : strdup("of a library");

	return count < least ? 0
	       : !of         ? -ENOMEM
			     : fold_try_group(fold, item, count, item->key, fold_explain_group(item, count, of));
}

static int fold_by_units(struct fold *fold)
{
	struct unit unit;

	for (size_t i = 0; i < fold->items; i++) {
		struct fold_item *item = &fold->item[i];

		if (item->done || item->unmet->right == POLICY_WRITE ||
		    !unit_find(fold->packages, fold->place->home, item->unmet->need->path, &unit))
			continue;
		item->package = unit.package;
		item->key = strdup(unit.dir);
		if (!item->key)
			return -ENOMEM;
	}
	return fold_visit_groups(fold, fold_take_unit);
}

/* Names that differ in numbers only: the differing parts become "*". */
static int fold_take_numbered(struct fold *fold, struct fold_item *item, size_t count)
{
	_cleanup_free_ char *pattern = count < FOLD_NUMBERED ? NULL : strdup(item->path);

	if (count < FOLD_NUMBERED)
		return 0;
	for (size_t i = 1; pattern && i < count; i++) {
		char *merged = pattern_merge(pattern, item[i].path);

		free(pattern);
		pattern = merged;
	}
	if (!pattern)
		return -ENOMEM;
	return pattern_is_telling(pattern) ? fold_try_group(fold, item, count, pattern,
							    fold_explain_group(item, count, "that differ in numbers"))
					   : 0;
}

static int fold_by_numbers(struct fold *fold)
{
	for (size_t i = 0; i < fold->items; i++) {
		struct fold_item *item = &fold->item[i];

		if (!item->done && pattern_has_number(item->path) && !(item->key = pattern_blur_numbers(item->path)))
			return -ENOMEM;
	}
	return fold_visit_groups(fold, fold_take_numbered);
}

static int fold_take_suffix(struct fold *fold, struct fold_item *item, size_t count)
{
	return count < FOLD_SUFFIX ? 0
				   : fold_try_group(fold, item, count, item->key,
						    fold_explain_group(item, count, "with one suffix"));
}

/* "/data/set/" and a star and ".csv", of files to be read. */
static int fold_by_suffix(struct fold *fold)
{
	for (size_t i = 0; i < fold->items; i++) {
		struct fold_item *item = &fold->item[i];
		const char *name = strrchr(item->path, '/') + 1, *dot = strrchr(name, '.');

		if (item->done || item->unmet->right != POLICY_READ || !dot || dot == name || !dot[1])
			continue;
		item->key = cli_format("%.*s*%s", (int)(name - item->path), item->path, dot);
		if (!item->key)
			return -ENOMEM;
	}
	return fold_visit_groups(fold, fold_take_suffix);
}

/* ---- single names ---- */

/* Splits a path that does not exist into the nearest directory that does and the name in it. */
static void fold_split_made(const struct fold *fold, const char *path, char dir[PATH_MAX], char name[NAME_MAX + 1])
{
	char host[PATH_MAX], *slash;
	struct stat status;

	(void)snprintf(dir, PATH_MAX, "%s", path);
	do {
		slash = strrchr(dir, '/');
		(void)snprintf(name, NAME_MAX + 1, "%s", slash + 1);
		*slash = '\0';
		fold_get_host_path(fold, dir, host);
	} while (slash > dir && lstat(host, &status) < 0);
}

/*
 * A name that the run made. A rule for a name that does not exist grants nothing, so the rule is a pattern in the
 * nearest directory that does: the first missing name, with "*" for its numbers and its end.
 */
static int fold_add_made(const struct fold *fold, const struct fold_item *item)
{
	_cleanup_free_ char *blurred = NULL, *pattern = NULL;
	char dir[PATH_MAX], name[NAME_MAX + 1];

	fold_split_made(fold, item->unmet->need->path, dir, name);
	blurred = pattern_blur_name(name);
	if (!blurred)
		return -ENOMEM;
	pattern = cli_format("%s/%s%s", dir, blurred, *name && blurred[strlen(blurred) - 1] == '*' ? "" : "*");
	return pattern ? fold_add_rule(fold, item->unmet->right, pattern, need_explain(&item->unmet->need->origin),
				       true, NULL)
		       : -ENOMEM;
}

/* A directory whose entries were read, so that it has to be granted with them, unless that would be too much. */
static bool fold_may_grant_listed(const struct fold *fold, const char *path)
{
	struct scan_found found;
	char host[PATH_MAX];
	const char *why;
	bool may;

	if (tier_find(fold->place->home, path, POLICY_READ, &why) != TIER_GRANTED)
		return false;
	fold_get_host_path(fold, path, host);
	may = scan_grant(fold->needs, fold->place->home, host, NULL, &found) == 0 && !found.objection;
	scan_found_release(&found);
	return may;
}

static int fold_add_single(const struct fold *fold, const struct fold_item *item, bool directories)
{
	const struct need *need = item->unmet->need;
	const bool in_workdir = fold_get_rest_in_workdir(fold, need->path);
	_cleanup_free_ char *only = NULL, *because = NULL;
	struct stat status;
	char host[PATH_MAX];

	fold_get_host_path(fold, need->path, host);
	if (lstat(host, &status) < 0) {
		if (!in_workdir)
			return fold_add_made(fold, item);
		status.st_mode = 0; /* a rule in the working directory counts for what will be made, too */
	}
	if (!S_ISDIR(status.st_mode) || item->unmet->right != POLICY_READ)
		return fold_add_rule(fold, item->unmet->right, item->path, need_explain(&need->origin),
				     S_ISDIR(status.st_mode), NULL);
	if (!directories)
		return 0;
	if (need->opened && fold_may_grant_listed(fold, need->path))
		return fold_add_rule(fold, POLICY_READ, need->path, need_explain(&need->origin), true, NULL);
	/* Nothing has such a name: the rule shows that the directory is there, and nothing that is in it. */
	only = cli_format("%s/.only-the-directory*", need->path[1] ? need->path : "");
	because = need_explain(&need->origin);
	return only && because ? fold_add_rule(fold, POLICY_READ, only, steal_pointer(&because), false, NULL) : -ENOMEM;
}

/* ---- all ---- */

static int fold_collect_items(struct fold *fold, const struct unmet *unmet, size_t count)
{
	bool done = false;
	int r = 0;

	for (size_t i = 0; r == 0 && i < count; i++) {
		const struct need *need = unmet[i].need;

		r = fold_refuse_unwritable(fold, &unmet[i], &done);
		if (r == 0 && !done)
			r = fold_sort_by_tier(fold, &unmet[i], &done);
		if (r == 0 && !done)
			fold->item[fold->items++] = (struct fold_item){
				.unmet = &unmet[i], .path = need->written ? need->written : need->path};
	}
	return r;
}

static bool fold_is_directory(const struct fold *fold, const struct fold_item *item)
{
	char host[PATH_MAX];
	struct stat status;

	fold_get_host_path(fold, item->unmet->need->path, host);
	return stat(host, &status) == 0 && S_ISDIR(status.st_mode);
}

int fold_unmet(struct draft *draft, const struct needs *needs, const struct packages *packages,
	       const struct fold_place *place, const struct unmet *unmet, size_t count, bool directories)
{
	struct fold fold = {.draft = draft, .needs = needs, .packages = packages, .place = place,
			    .item = calloc(count + 1, sizeof(*fold.item))};
	int r = fold.item ? fold_collect_items(&fold, unmet, count) : -ENOMEM;

	for (size_t i = 0; i < fold.items; i++) /* directories and links are not grouped */
		fold.item[i].done = fold.item[i].unmet->link || fold_is_directory(&fold, &fold.item[i]);
	if (r == 0)
		r = fold_by_units(&fold);
	if (r == 0)
		r = fold_by_numbers(&fold);
	if (r == 0)
		r = fold_by_suffix(&fold);
	for (size_t i = 0; r == 0 && i < fold.items; i++)
		if (!fold.item[i].done || fold.item[i].unmet->link || fold_is_directory(&fold, &fold.item[i]))
			r = fold_add_single(&fold, &fold.item[i], directories);
	fold_clear_keys(&fold);
	free(fold.item);
	return r;
}

/* ---- secrets in the working directory ---- */

#define DENY_ENTRIES_MAX 200000u

int fold_deny_secrets(struct draft *draft, const struct needs *needs, const struct fold_place *place)
{
	char *const paths[] = {(char *)(uintptr_t)place->workdir_host, NULL};
	FTS *walk = place->workdir_host ? fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, NULL) : NULL;
	const FTSENT *entry;
	size_t entries = 0;
	int r = 0;

	while (walk && r == 0 && entries++ < DENY_ENTRIES_MAX && (entry = fts_read(walk))) {
		const char *rest = path_rest_below(entry->fts_path, place->workdir_host);
		const struct secret_pattern *secret =
			rest && *rest ? secret_find_pattern(place->home, entry->fts_path) : NULL;
		_cleanup_free_ char *virt = NULL, *pattern = NULL, *because = NULL;

		if (!secret || secret->certainty != SECRET_CERTAIN || strchr("/~", secret->pattern[0]))
			continue;
		virt = cli_format("%s/%s", place->workdir, rest);
		pattern = cli_format("**/%s", secret->pattern);
		because = cli_format("%s: %s, which the program did not use", rest, secret->kind);
		if (!virt || !pattern || !because)
			r = -ENOMEM;
		else if (!place->risky || !needs_have_path(needs, virt))
			r = draft_add_deny(draft, pattern, because);
	}
	if (walk)
		(void)fts_close(walk);
	return r;
}
