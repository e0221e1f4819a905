#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup-json.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "base/text.h"
#include "policy/model.h"
#include "policy/paths/explain.h"
#include "policy/paths/literal.h"

#define LINKS_FOLLOWED_MAX 40 /* as many as the kernel follows: path_resolution(7) */

const struct policy_mount *policy_find_mount(const struct policy *policy, const char *path)
{
	for (size_t i = policy->mount_count; i-- > 0;)
		if (path_is_below(path, policy->mount[i].virt))
			return &policy->mount[i]; /* the mounts are sorted, so the last match is the innermost */
	return NULL;
}

int policy_path_concat(const char *base, const char *rest, char out[PATH_MAX])
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
	return policy_path_concat(mount->host_path, path_get_rest_below(path, mount->virt), out);
}

/* Finds the link of the view that the path is, or leads through. NULL: none. */
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
	int len = policy_path_concat(path, "", out);

	for (unsigned i = 0; len >= 0 && (link = explain_find_link(policy, out)); i++) {
		if (i == LINKS_FOLLOWED_MAX)
			return -ELOOP;
		len = policy_path_concat(link->target, path_get_rest_below(out, link->path), next);
		if (len >= 0)
			memcpy(out, next, (size_t)len + 1);
	}
	return len;
}

/* The text as JSON, with quotes. Owned by the caller; NULL: out of memory. */
static char *explain_make_json_text(const char *text)
{
	_cleanup_json_ json_t *value = json_string(text);

	return value ? json_dumps(value, JSON_ENCODE_ANY) : NULL;
}

char *policy_suggest_grant(const struct policy_decision *decision, const struct suggest_host *host, const char *path,
			   unsigned want, char **ret_why)
{
	const char *list = want & POLICY_EXEC ? "exec" : want & POLICY_WRITE ? "write" : "read";
	const char *option = want & POLICY_EXEC ? "-x" : want & POLICY_WRITE ? "-W" : "-r";
	_cleanup_free_ char *written = NULL, *json = NULL;
	_cleanup_buf_ struct buf buf = {0};
	char grant[PATH_MAX];
	const char *why;

	if (decision->verdict != VERDICT_DENY)
		return NULL;
	if (strcmp(decision->reason, "private") == 0) { /* do not suggest -r, which would grant the secret */
		*ret_why = strdup("it is where secrets are kept; if the program must have it, grant it by hand");
		return NULL;
	}
	if (strcmp(decision->reason, "denied_by_rule") == 0 || strcmp(decision->reason, "exec_denied_by_rule") == 0) {
		*ret_why = text_format("a deny beats everything; remove %s", decision->rule);
		return NULL;
	}
	if (strcmp(decision->reason, "not_in_libraries") == 0)
		return suggest_library(decision->rule);
	if (strcmp(decision->reason, "after_read") == 0) {
		*ret_why = text_format("what was read before has closed it; add it to \"write\" of %s", decision->rule);
		return NULL;
	}
	(void)snprintf(grant, sizeof(grant), "%s", path);
	why = suggest_shorten_path(host, grant, want);
	if (!why && literal_find_objection(grant))
		why = LITERAL_REASON_NONE;
	if (why) {
		*ret_why = strdup(why);
		return NULL;
	}
	written = literal_write("", grant);
	json = written ? explain_make_json_text(written) : NULL;
	if (!json)
		return NULL;
	buf_printf(&buf, "%s ", option);
	suggest_put_shell_word(&buf, written);
	buf_printf(&buf, ", or in a policy {\"version\": 1, \"filesystem\": {\"%s\": [%s]}}", list, json);
	return buf_take_text(&buf);
}
