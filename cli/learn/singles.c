#include "cli/learn/singles.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/learn/pattern.h"

/* A listed directory is granted with its contents if at most this many of its files were not used. */
#define LISTED_DIRECTORY_UNUSED_FILES_MAX 200u

/* ---- rules for names that the run made ---- */

/*
 * Splits a path that does not exist into its nearest existing directory and the first missing name. True if more names
 * follow the missing one.
 */
static bool singles_split_missing_path(const struct fold *fold, const char *path, char dir[PATH_MAX],
				       char name[NAME_MAX + 1])
{
	char host[PATH_MAX], *slash;
	struct stat status;

	(void)snprintf(dir, PATH_MAX, "%s", path);
	do {
		slash = strrchr(dir, '/');
		(void)snprintf(name, NAME_MAX + 1, "%s", slash + 1);
		*slash = '\0';
		rules_get_host_path(fold->context, dir, host);
	} while (slash > dir && lstat(host, &status) < 0);
	return path[strlen(dir) + 1 + strlen(name)] == '/';
}

/*
 * Adds a rule for a name that does not exist. A rule for that name would grant nothing, so the rule is a pattern in the
 * nearest existing directory: the first missing name, with "*" for its numbers and at its end, and everything below it
 * if names below it were needed.
 */
static int singles_add_missing_path(const struct fold *fold, const struct fold_item *item)
{
	_cleanup_free_ char *blurred = NULL, *pattern = NULL;
	char dir[PATH_MAX], name[NAME_MAX + 1];
	const bool below = singles_split_missing_path(fold, item->unmet->need->path, dir, name);

	blurred = pattern_replace_random_in_name(name);
	if (!blurred)
		return -ENOMEM;
	pattern = text_format("%s/%s%s%s", dir, blurred, *blurred && blurred[strlen(blurred) - 1] == '*' ? "" : "*",
			      below ? "/**" : "");
	return pattern ? rules_add_for_need(fold, item->unmet, pattern, true) : -ENOMEM;
}

/*
 * Adds a rule for a name in the working directory that does not exist. There a rule also counts for files that will be
 * made, so it has "*" only for parts that each run chooses anew, as in the directory in which "go test" builds a
 * program.
 */
static int singles_add_in_workdir(const struct fold *fold, const struct fold_item *item)
{
	const char *rest = rules_get_rest_in_workdir(fold->context, item->unmet->need->path);
	_cleanup_free_ char *blurred = pattern_replace_temporary_names(rest), *pattern = NULL;

	pattern = blurred ? text_format("%s%s%s", fold->context->workdir_in_view, *rest ? "/" : "", blurred) : NULL;
	return pattern ? rules_add_for_need(fold, item->unmet, pattern, false) : -ENOMEM;
}

/* ---- directories ---- */

/* Whether the path is in a home directory, where a rule must not grant more than was needed. */
static bool singles_is_in_home(const struct fold *fold, const char *path)
{
	const char *home = fold->context->home;

	return !rules_get_rest_in_workdir(fold->context, path) &&
	       ((home && home[1] && path_is_below(path, home)) || path_is_below(path, "/root") ||
		path_is_below(path, "/home"));
}

/*
 * Grants a directory with its contents if these are few files and not in a home directory. *ret_added: a rule was
 * added.
 */
static int singles_try_directory(const struct fold *fold, const struct fold_item *item, bool *ret_added)
{
	const struct need *need = item->unmet->need;

	*ret_added = false;
	if (singles_is_in_home(fold, need->path))
		return 0;
	return rules_try_one_rule_for_group(fold, item->unmet->right, item->grant_path,
					    need_origin_describe(&need->origin), LISTED_DIRECTORY_UNUSED_FILES_MAX,
					    ret_added);
}

/* Adds a rule for a directory whose entries were read. */
static int singles_add_listed_directory(const struct fold *fold, const struct fold_item *item)
{
	bool added = false;
	int r = item->unmet->need->names_in_dir_were_read ? singles_try_directory(fold, item, &added) : 0;

	return r < 0 || added ? r : rules_add_directory_only(fold, item->unmet->need);
}

/* Adds a rule for a directory that was itself changed, as by chmod(2). The rule also grants changing its contents. */
static int singles_add_changed_directory(const struct fold *fold, const struct fold_item *item)
{
	bool added;
	int r = singles_try_directory(fold, item, &added);

	return r < 0 || added ? r
			      : rules_add_disabled(fold, item->unmet, item->grant_path,
						   "a rule for the directory would grant all that is in it");
}

/*
 * Adds a rule for a symbolic link that was read or removed itself. A rule for its name would grant its target, so the
 * rule is a pattern, which the name of the link matches. In /usr, which is readable anyway, the rule is the name.
 */
static int singles_add_link(const struct fold *fold, const struct fold_item *item, const char *host)
{
	_cleanup_free_ char *target = realpath(host, NULL), *pattern = NULL;

	if (target && path_is_below(target, "/usr") && path_is_below(host, "/usr"))
		return rules_add_for_need(fold, item->unmet, item->grant_path, false);
	pattern = text_format("%s*", item->grant_path);
	return pattern ? rules_add_for_need(fold, item->unmet, pattern, true) : -ENOMEM;
}

int singles_add_rule(const struct fold *fold, const struct fold_item *item, bool directories)
{
	const struct need *need = item->unmet->need;
	struct stat status = {0};
	char host[PATH_MAX];

	rules_get_host_path(fold->context, need->path, host);
	if (lstat(host, &status) < 0)
		return rules_get_rest_in_workdir(fold->context, need->path) ? singles_add_in_workdir(fold, item)
									    : singles_add_missing_path(fold, item);
	if (S_ISLNK(status.st_mode) && !item->unmet->is_link_itself)
		return singles_add_link(fold, item, host);
	if (!S_ISDIR(status.st_mode))
		return rules_add_for_need(fold, item->unmet, item->grant_path, false);
	if (item->unmet->right != POLICY_READ)
		return singles_add_changed_directory(fold, item);
	return directories ? singles_add_listed_directory(fold, item) : 0;
}
