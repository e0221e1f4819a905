#include "cli/learn/rules.h"

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
#include "cli/learn/tier.h"
#include "policy/paths/literal.h"
#include "policy/paths/secrets.h"

/* ---- names ---- */

const char *rules_get_rest_in_workdir(const struct fold_context *context, const char *path)
{
	return context->workdir_in_view ? path_get_rest_below(path, context->workdir_in_view) : NULL;
}

void rules_get_host_path(const struct fold_context *context, const char *path, char host[PATH_MAX])
{
	const char *rest = rules_get_rest_in_workdir(context, path), *top = context->workdir_host_path;

	if (rest && top)
		(void)snprintf(host, PATH_MAX, "%s%s%s", top, *rest ? "/" : "", rest);
	else
		(void)snprintf(host, PATH_MAX, "%s", path);
}

const char *rules_get_grant_path(const struct fold_context *context, const struct need *need)
{
	char host[PATH_MAX];
	_cleanup_free_ char *real = NULL, *target = NULL;

	/* The program may change a link in the working directory, so no rule may depend on where that link leads. */
	if (!need->path_as_written || rules_get_rest_in_workdir(context, need->path_as_written))
		return need->path;
	real = realpath(need->path_as_written, NULL);
	rules_get_host_path(context, need->path, host);
	target = realpath(host, NULL);
	return real && target && strcmp(real, target) == 0 ? need->path_as_written : need->path;
}

/* Returns the path as a policy writes it: below @workdir or ~, with "$" escaped. Owned; NULL: no memory. */
static char *rules_write_path(const struct fold_context *context, const char *path)
{
	const char *rest = rules_get_rest_in_workdir(context, path), *home = context->home;
	const char *in_home = home && home[1] ? path_get_rest_below(path, home) : NULL;

	if (rest)
		return literal_write("@workdir", rest);
	return in_home && *in_home ? literal_write("~", in_home) : literal_write("", path);
}

int rules_reject_inexpressible_path(const struct fold *fold, const struct unmet_need *unmet, bool *ret_refused)
{
	const char *path = unmet->need->path, *name = rules_get_grant_path(fold->context, unmet->need);
	const char *why = literal_find_objection(path);

	if (!why)
		why = literal_find_objection(name);
	*ret_refused = why != NULL;
	return why ? draft_add_ungrantable_path(fold->draft, unmet->right, path, why) : 0;
}

/* ---- objections ---- */

/* True when a component with "*" could match the name of a secret in this directory. */
static bool rules_may_name_secret(const struct fold_context *context, const char *dir, const char *name, size_t len)
{
	size_t count;
	const struct secret_pattern *secret = secrets_get_patterns(&count);
	const char *home = context->home;
	const bool in_home = home && strcmp(dir, home) == 0;

	for (size_t i = 0; i < count; i++) {
		const char *pattern = secret[i].pattern;

		if (pattern[0] == '/' || (pattern[0] == '~' && !in_home) || secret[i].certainty != SECRET_CERTAIN)
			continue;
		pattern += pattern[0] == '~' ? 2 : 0;
		/*
		 * a pattern such as "*.csv" also matches ".env.csv", but is allowed: otherwise no pattern could begin
		 * with "*"
		 */
		if (name[0] == '*' && strchr(pattern, '*'))
			continue;
		if (pattern_may_match_same_name(name, len, pattern, strcspn(pattern, "/")))
			return true;
	}
	return false;
}

/*
 * True when a rule with this pattern could grant a secret that has an absolute path, such as /etc/shadow: the pattern
 * may match that path, or a directory above or below it.
 */
static bool rules_may_name_system_secret(const char *pattern)
{
	size_t count;
	const struct secret_pattern *secret = secrets_get_patterns(&count);

	for (size_t i = 0; i < count; i++) {
		const char *left = pattern, *right = secret[i].pattern;
		bool meet = right[0] == '/' && secret[i].certainty == SECRET_CERTAIN;

		while (meet && *left == '/' && *right == '/') {
			size_t left_len = strcspn(++left, "/"), right_len = strcspn(++right, "/");

			meet = pattern_may_match_same_name(left, left_len, right, right_len);
			left += left_len;
			right += right_len;
		}
		if (meet)
			return true;
	}
	return false;
}

const char *rules_find_objection_to_pattern(const struct fold_context *context, const char *pattern, unsigned right)
{
	const char *why, *star = strchr(pattern, '*');

	if (tier_find(context->home, pattern, right, &why) != TIER_GRANTED)
		return why;
	if (!pattern_components_are_specific(pattern))
		return "a pattern for it would match too many names";
	if (star && rules_may_name_system_secret(pattern))
		return "it could be the name of a secret";
	for (; star; star = strchr(star, '*')) {
		char dir[PATH_MAX];
		const char *name = star, *end = star + strcspn(star, "/");

		while (name > pattern && name[-1] != '/')
			name--;
		if (strcmp(name, "**") == 0) /* the pattern ends in "**": everything below the components so far */
			break;
		(void)snprintf(dir, sizeof(dir), "%.*s", name - pattern > 1 ? (int)(name - pattern - 1) : 1, pattern);
		if (!path_is_below(dir, "/usr") && tier_find(context->home, dir, POLICY_READ, &why) != TIER_GRANTED)
			return why;
		if (rules_may_name_secret(context, dir, name, (size_t)(end - name)))
			return "it could be the name of a secret";
		star = end;
	}
	return NULL;
}

/* ---- rules ---- */

/* Adds a rule, or one with "disabled". because_taken: the reason; owned by the draft from then on. */
static int rules_add_to_draft(const struct fold *fold, const struct unmet_need *unmet, const char *path,
			      char *because_taken, const struct scan_found *found, const char *disabled)
{
	_cleanup_free_ char *because = because_taken, *written = rules_write_path(fold->context, path);

	if (!written || !because || (disabled && draft_add_disabled_path(fold->draft, unmet->need->path) < 0))
		return -ENOMEM;
	return draft_add_path_rule(fold->draft, unmet->right, written, steal_pointer(&because), found, disabled);
}

/* Looks for what a grant of the path would also grant. 0 or -errno. */
static int rules_scan_path_to_grant(const struct fold *fold, const char *path, struct scan_found *ret_found)
{
	const struct scan_scope scope = {.needs = fold->needs,
					 .home = fold->context->home,
					 .inodes = fold->context->inodes,
					 .allows_risky = fold->context->allows_risky};
	char host[PATH_MAX];

	rules_get_host_path(fold->context, path, host);
	return scan_path_to_grant(&scope, host, rules_get_rest_in_workdir(fold->context, path) ? path : NULL,
				  ret_found);
}

int rules_add_for_need(const struct fold *fold, const struct unmet_need *unmet, const char *path, bool wide)
{
	const char *disabled = wide ? rules_find_objection_to_pattern(fold->context, path, unmet->right) : NULL;
	struct scan_found found = {0};
	int r = wide ? rules_scan_path_to_grant(fold, path, &found) : 0;

	if (!disabled)
		disabled = found.objection;
	if (r == 0)
		r = rules_add_to_draft(fold, unmet, path, need_origin_describe(&unmet->need->origin),
				       wide ? &found : NULL, disabled);
	scan_found_release(&found);
	return r;
}

int rules_add_disabled(const struct fold *fold, const struct unmet_need *unmet, const char *path, const char *why)
{
	return rules_add_to_draft(fold, unmet, path, need_origin_describe(&unmet->need->origin), NULL, why);
}

int rules_try_one_rule_for_group(const struct fold *fold, unsigned right, const char *path, char *because_taken,
				 uint64_t most, bool *ret_added)
{
	_cleanup_free_ char *because = because_taken, *written = rules_write_path(fold->context, path);
	struct scan_found found = {0};
	int r = 0;

	*ret_added = false;
	if (!written || !because)
		return -ENOMEM;
	if (rules_find_objection_to_pattern(fold->context, path, right))
		return 0;
	r = rules_scan_path_to_grant(fold, path, &found);
	*ret_added = r == 0 && !found.objection && found.files - found.used <= most;
	if (*ret_added)
		r = draft_add_path_rule(fold->draft, right, written, steal_pointer(&because), &found, NULL);
	scan_found_release(&found);
	return r;
}

int rules_add_directory_only(const struct fold *fold, const struct need *need)
{
	/* no file has such a name, so the rule grants only the directory */
	_cleanup_free_ char *only = text_format("%s/.only-the-directory*", need->path[1] ? need->path : "");
	const struct unmet_need unmet = {.need = need, .right = POLICY_READ};

	return only ? rules_add_to_draft(fold, &unmet, only, need_origin_describe(&need->origin), NULL, NULL) : -ENOMEM;
}

/* ---- tiers ---- */

/* Returns the tier of the file itself: it may be a hard link to a secret, or belong to another user. */
static enum tier rules_find_tier_of_file(const struct fold *fold, const char *host, const struct unmet_need *unmet,
					 const char **ret_why)
{
	struct stat status;

	if (lstat(host, &status) < 0)
		return TIER_GRANTED;
	*ret_why = secret_inodes_get_kind(fold->context->inodes, &status);
	if (*ret_why)
		return TIER_RISKY;
	if (rules_get_rest_in_workdir(fold->context, unmet->need->path) || !tier_is_private_file(&status, unmet->right))
		return TIER_GRANTED;
	*ret_why = "it is another user's";
	return TIER_RISKY;
}

static bool rules_path_is_symlink(const char *host)
{
	struct stat status;

	return lstat(host, &status) == 0 && S_ISLNK(status.st_mode);
}

int rules_leave_out_if_tier_forbids(const struct fold *fold, const struct unmet_need *unmet, bool *ret_done)
{
	const char *why = NULL, *path = unmet->need->path, *name = rules_get_grant_path(fold->context, unmet->need);
	const bool risky = fold->context->allows_risky;
	enum tier tier = TIER_GRANTED;
	char host[PATH_MAX];

	rules_get_host_path(fold->context, path, host);
	if (!rules_get_rest_in_workdir(fold->context, path) || secret_find_pattern(fold->context->home, path))
		tier = tier_find(fold->context->home, path, unmet->right, &why);
	if (tier == TIER_GRANTED)
		tier = rules_find_tier_of_file(fold, host, unmet, &why);
	*ret_done = tier != TIER_GRANTED;
	if (tier == TIER_NEVER_GRANTED)
		return draft_add_ungrantable_path(fold->draft, unmet->right, path, why);
	if (tier == TIER_RISKY && risky && rules_path_is_symlink(host))
		return rules_add_disabled(fold, unmet, name, "a rule for a link grants what it leads to");
	if (tier == TIER_RISKY)
		return rules_add_to_draft(fold, unmet, name, need_origin_describe(&unmet->need->origin), NULL,
					  risky ? NULL : why);
	return 0;
}
