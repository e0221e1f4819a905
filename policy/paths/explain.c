#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/path.h"
#include "policy/model.h"
#include "policy/paths/explain.h"

#include "base/banned.h"

#define LINKS_MAX 40 /* as path_resolution(7) */

const struct policy_mount *policy_find_mount(const struct policy *policy, const char *path)
{
	for (size_t i = policy->mount_count; i-- > 0;)
		if (path_is_below(path, policy->mount[i].virt))
			return &policy->mount[i]; /* sorted: the last match is the innermost */
	return NULL;
}

int policy_path_cat(const char *base, const char *rest, char out[PATH_MAX])
{
	int len =
		snprintf(out, PATH_MAX, "%s%s%s", strcmp(base, "/") == 0 && *rest ? "" : base, *rest ? "/" : "", rest);

	return len < 0 || len >= PATH_MAX ? -ENAMETOOLONG : len;
}

int policy_map_to_host(const struct policy *policy, const char *path, char out[PATH_MAX])
{
	const struct policy_mount *mount = policy_find_mount(policy, path);

	if (!mount || mount->kind != POLICY_MOUNT_TREE)
		return -ENOENT;
	return policy_path_cat(mount->host, path_rest_below(path, mount->virt), out);
}

static const struct policy_link *explain_find_link(const struct policy *policy, const char *path)
{
	for (size_t i = 0; i < policy->link_count; i++)
		if (path_is_below(path, policy->link[i].path))
			return &policy->link[i];
	return NULL;
}

int policy_follow_links(const struct policy *policy, const char *path, char out[PATH_MAX])
{
	char next[PATH_MAX];
	const struct policy_link *link;
	int len = policy_path_cat(path, "", out);

	for (unsigned i = 0; len >= 0 && (link = explain_find_link(policy, out)); i++) {
		if (i == LINKS_MAX)
			return -ELOOP;
		len = policy_path_cat(link->target, path_rest_below(out, link->path), next);
		if (len >= 0)
			memcpy(out, next, (size_t)len + 1);
	}
	return len;
}

char *policy_suggest_grant(const struct policy_decision *decision, const char *path, unsigned want)
{
	const char *list = want & POLICY_EXEC ? "exec" : want & POLICY_WRITE ? "write" : "read";
	const char *option = want & POLICY_EXEC ? "-x" : want & POLICY_WRITE ? "-W" : "-r";
	char *text;
	int len;

	if (decision->verdict != VERDICT_DENY)
		return NULL;
	if (strcmp(decision->reason, "private") == 0)
		return NULL; /* a secret is not suggested; -r grants it all the same */
	if (strcmp(decision->reason, "denied_by_rule") == 0 || strcmp(decision->reason, "exec_denied_by_rule") == 0)
		len = asprintf(&text, "no grant can: a deny beats everything; remove %s", decision->rule);
	else
		len = asprintf(&text, "%s %s, or in a policy {\"filesystem\": {\"%s\": [\"%s\"]}}", option, path, list,
			       path);
	return len < 0 ? NULL : text;
}
