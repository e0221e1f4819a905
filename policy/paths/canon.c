/* Resolves the symbolic links in the literal parts of rules, once. Judging then only compares canonical names. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "policy/model.h"

/* Joins two paths with one slash; b may be empty. In the arena. */
static const char *canon_join_paths(struct compiler *compiler, const char *a, const char *b)
{
	while (*b == '/')
		b++;
	return arena_concat_texts(&compiler->policy->arena, strcmp(a, "/") == 0 && *b ? "" : a, *b ? "/" : "", b,
				  (char *)NULL);
}

/* realpath(3) as the policy's caller performs it. NULL: no such file. Allocated in the policy's arena. */
static const char *canon_resolve_path(struct compiler *compiler, const char *path)
{
	_cleanup_free_ char *found = compiler->host->realpath(compiler->host->ctx, path);

	return found ? arena_dup(&compiler->policy->arena, found) : NULL;
}

/* Resolves the links in the part of the path that exists, and appends the rest. */
static const char *canon_resolve_prefix(struct compiler *compiler, const char *path)
{
	char head[PATH_MAX];
	size_t len = strlen(path);

	if (len >= sizeof(head))
		return path;
	memcpy(head, path, len + 1);
	for (;;) {
		const char *found = canon_resolve_path(compiler, head);
		char *slash;

		if (found)
			return canon_join_paths(compiler, found, path + strlen(head));
		slash = strrchr(head, '/');
		if (!slash || !head[1])
			return path;
		slash[slash == head] = '\0'; /* "/" keeps its slash */
	}
}

/* Resolves the links in all but the last name. A redirect or provided file replaces a link of that name. */
static const char *canon_resolve_parent(struct compiler *compiler, const char *path)
{
	const char *slash = strrchr(path, '/'), *dir;

	dir = arena_dupn(&compiler->policy->arena, path, slash == path ? 1 : (size_t)(slash - path));
	return canon_join_paths(compiler, canon_resolve_prefix(compiler, dir), slash + 1);
}

/* Splits the path of a rule before its first component with a glob: "/usr/bin/py*" gives "/usr/bin" and "py*". */
static void canon_split_path_at_glob(struct compiler *compiler, struct rule *rule)
{
	const char *at = rule->expanded_path.path, *literal_end = at, *end;

	rule->literal_path = rule->expanded_path.path;
	if (at[0] != '/') {
		rule->literal_path = NULL;
		rule->pattern = at;
		return;
	}
	for (at++; *at; at = *end ? end + 1 : end) {
		end = strchrnul(at, '/');
		if (glob_is_wild(at, (size_t)(end - at)))
			break;
		literal_end = end;
	}
	if (!*at)
		return;
	rule->pattern = strcmp(at, "**") == 0 ? NULL : at; /* "**" matches all below, as a rule without a glob does */
	rule->literal_path = literal_end == rule->expanded_path.path ? "/"
						       : arena_dupn(&compiler->policy->arena, rule->expanded_path.path,
								    (size_t)(literal_end - rule->expanded_path.path));
}

/* Maps a virtual path in the workdir to its host path. */
static const char *canon_map_workdir_to_host(struct compiler *compiler, const char *name)
{
	const char *rest = path_get_rest_below(name, compiler->policy->settings.workdir);

	return canon_join_paths(compiler, compiler->policy->workdir_host, rest ? rest : "");
}

/*
 * Maps a canonical host path to its virtual path in the workdir. An earlier untrusted run may have written the workdir:
 * a link in it must not turn "@workdir/out" into a grant for another place.
 */
static const char *canon_map_workdir_to_virtual(struct compiler *compiler, const struct rule *rule, const char *host)
{
	const char *rest = path_get_rest_below(host, compiler->policy->workdir_host);

	if (rest)
		return canon_join_paths(compiler, compiler->policy->settings.workdir, rest);
	compiler_add_error(compiler, rule->source_location,
			   "%s leads out of the workdir to %s by a symbolic link; name that path instead",
			   rule->expanded_path.text_shown_to_user, host);
	return NULL;
}

/* The path in which links are resolved: the path of a grant; the parent directory of a redirect or provided file. */
static const char *canon_choose_host_path(struct compiler *compiler, const struct rule *rule, const char *path)
{
	const char *slash = kind_is_grant(rule->kind) ? NULL : strrchr(path, '/');

	return !slash          ? path
	       : slash == path ? "/"
			       : arena_dupn(&compiler->policy->arena, path, (size_t)(slash - path));
}

/* Adds the host path of a rule to policy->host_path. Grants by a profile or @interpreter are optional. */
static void canon_add_host_path(struct compiler *compiler, const struct rule *rule, const char *path)
{
	compiler_add_host_path(compiler, POLICY_HOST_PATH_GRANT, rule->source_location,
			       canon_choose_host_path(compiler, rule, path));
	if ((rule->expanded_path.is_of_interpreter || rule->is_from_profile) && kind_is_grant(rule->kind))
		compiler->policy->host_path[compiler->policy->host_path_count - 1].bad_path_drops_grant = true;
}

/* Whether the caller of the policy has a `refused` callback, and it refuses to resolve the path. */
static bool canon_path_is_refused_by_caller(const struct policy_host *host, const char *path)
{
	return host->refused && host->refused(host->ctx, path);
}

/* Resolves a rule in the working directory, whose virtual path differs from its host path. */
static void canon_resolve_rule_in_workdir(struct compiler *compiler, struct rule *rule)
{
	bool deny = kind_is_deny(rule->kind);
	const char *written = rule->literal_path, *host = canon_map_workdir_to_host(compiler, written);

	if (!deny)
		canon_add_host_path(compiler, rule, host);
	if (kind_is_grant(rule->kind) && canon_path_is_refused_by_caller(compiler->host, host)) {
		rule->is_overridden = true;
		return;
	}
	host = kind_is_substitute(rule->kind) ? canon_resolve_parent(compiler, host) : canon_resolve_prefix(compiler,
													    host);
	if (deny && !path_is_below(host, compiler->policy->workdir_host)) {
		rule->literal_alias = host; /* the target of the link is denied as well as the link */
		return;
	}
	rule->literal_path = canon_map_workdir_to_virtual(compiler, rule, host);
	rule->host_path = host;
	if (deny && rule->literal_path && strcmp(rule->literal_path, written) != 0)
		rule->literal_alias = written;
}

/* Resolves the rule's path on the host. Grants follow links; denials apply to the path as written, too. */
static void canon_resolve_on_host(struct compiler *compiler, struct rule *rule)
{
	const char *written = rule->literal_path;

	if (!kind_is_deny(rule->kind))
		canon_add_host_path(compiler, rule, written);
	if (kind_is_grant(rule->kind)) {
		rule->host_path = canon_path_is_refused_by_caller(compiler->host, written)
					  ? NULL
					  : canon_resolve_path(compiler, written);
		if (rule->host_path)
			rule->literal_path = rule->host_path;
	} else if (kind_is_deny(rule->kind)) {
		rule->literal_path = canon_resolve_prefix(compiler, written);
		if (strcmp(rule->literal_path, written) != 0)
			rule->literal_alias = written;
	} else {
		rule->literal_path = canon_resolve_parent(compiler, written);
	}
}

/*
 * Sets rule->host_path, the target of a redirect, and rule->literal_alias, the path of the target in the view, if there
 * is one.
 */
static void canon_resolve_target(struct compiler *compiler, struct rule *rule)
{
	switch (rule->to.place) {
	case PATH_BASE_SCRATCH:
		rule->host_path = rule->to.path;
		return;
	case PATH_BASE_WORKDIR:
		rule->host_path = canon_map_workdir_to_host(compiler, rule->to.path);
		compiler_add_host_path(compiler, POLICY_HOST_PATH_GRANT, rule->source_location, rule->host_path);
		rule->host_path = canon_resolve_prefix(compiler, rule->host_path);
		rule->literal_alias = canon_map_workdir_to_virtual(compiler, rule, rule->host_path);
		return;
	case PATH_BASE_ROOT:
		break;
	}
	compiler_add_host_path(compiler, POLICY_HOST_PATH_GRANT, rule->source_location, rule->to.path);
	rule->host_path = canon_resolve_path(compiler, rule->to.path);
	rule->literal_alias = rule->host_path;
	if (!rule->host_path)
		compiler_add_error(compiler, rule->source_location,
			      "leads to %s, which does not exist; create it or name another target", rule->to.path);
}

/* True when a grant that is not from @interpreter shows this host path, as part of a whole tree. */
static bool canon_host_path_is_shown(const struct policy *policy, const char *host)
{
	for (size_t i = 0; i < policy->rule_count; i++) {
		const struct rule *rule = &policy->rule[i];

		if (kind_is_grant(rule->kind) && !rule->is_overridden && !rule->expanded_path.is_of_interpreter &&
		    !rule->pattern && rule->host_path && path_is_below(host, rule->host_path))
			return true;
	}
	return false;
}

/*
 * Limits grants of @interpreter in the workdir to paths that other rules show: an earlier run may have put a false
 * interpreter into the workdir.
 */
static void canon_restrict_interpreters_in_workdir(struct policy *policy)
{
	for (size_t i = 0; i < policy->rule_count; i++) {
		struct rule *rule = &policy->rule[i];

		if (rule->expanded_path.is_of_interpreter && kind_is_grant(rule->kind) && rule->host_path &&
		    path_is_below(rule->host_path, policy->workdir_host) &&
		    !canon_host_path_is_shown(policy, rule->host_path))
			rule->is_overridden = true;
	}
}

/* Splits off the rule's pattern, and resolves the literal part, in the working directory or on the host. */
static void canon_resolve_rule(struct compiler *compiler, struct rule *rule)
{
	canon_split_path_at_glob(compiler, rule);
	if (rule->pattern &&
	    glob_compile(&compiler->policy->arena, rule->pattern,
			 kind_is_deny(rule->kind) && rule->kind != RULE_AFTER_WRITE, &rule->glob) < 0)
		compiler_add_error(compiler, rule->source_location, "more than %d names in a glob; shorten it",
				   GLOB_PARTS_MAX);
	if (rule->expanded_path.place == PATH_BASE_SCRATCH)
		return; /* compile_paths_of_after_entries() */
	if (rule->literal_path && rule->expanded_path.place == PATH_BASE_WORKDIR)
		canon_resolve_rule_in_workdir(compiler, rule);
	else if (rule->literal_path)
		canon_resolve_on_host(compiler, rule);
	if (rule->kind == RULE_REDIRECT)
		canon_resolve_target(compiler, rule);
}

void compile_rule_paths(struct compiler *compiler)
{
	const bool failed = compiler->has_failed;
	bool any = false;

	for (size_t i = 0; i < compiler->policy->rule_count; i++) {
		struct rule *rule = &compiler->policy->rule[i];

		if (rule->is_overridden)
			continue;
		/* a redirect without a target was refused by vars.c, with a message */
		compiler->has_failed = rule->kind == RULE_REDIRECT && !rule->to.path;
		if (!compiler->has_failed)
			canon_resolve_rule(compiler, rule);
		/* Later steps skip a wrong rule like an overridden one, and still find the mistakes of other rules. */
		rule->is_overridden = rule->is_overridden || compiler->has_failed;
		any = any || compiler->has_failed;
	}
	compiler->has_failed = failed || any;
	canon_restrict_interpreters_in_workdir(compiler->policy);
}
