#include <limits.h>
#include <string.h>

#include "base/path.h"
#include "policy/model.h"
#include "policy/paths/explain.h"
#include "policy/paths/host-paths.h"

void compiler_add_host_path(struct compiler *compiler, enum policy_host_path_kind kind, const char *source_location,
			    const char *text)
{
	struct policy *policy = compiler->policy;

	ARENA_APPEND(&policy->arena, policy->host_path, policy->host_path_count,
		     ((struct policy_host_path){kind, source_location, false, text}));
}

const struct policy_host_path *policy_get_host_paths(const struct policy *policy, size_t *ret_count)
{
	*ret_count = policy->host_path_count;
	return policy->host_path;
}

bool policy_has_phase(const struct policy *policy, enum policy_phase phase)
{
	return policy->phase_bits & 1u << phase;
}

bool policy_host_path_is_writable(const struct policy *policy, const char *host)
{
	for (size_t i = 0; i < policy->mount_count; i++) {
		const struct policy_mount *mount = &policy->mount[i];
		const char *rest =
			mount->kind == POLICY_MOUNT_TREE ? path_get_rest_below(host, mount->host_path) : NULL;
		char name[PATH_MAX];
		int len = rest ? policy_path_concat(mount->virt, rest, name) : 0;

		if (!rest)
			continue;
		if (len < 0)
			return true; /* such a long path cannot be judged: assume that it is writable */
		/* Another mount may cover the name: the /work/x of the host is not the /work/x of the workdir. */
		if (policy_find_mount(policy, name) == mount &&
		    policy_get_rights(policy, name, (size_t)len) & POLICY_WRITE)
			return true;
	}
	return false;
}

/* True when the rule applies to this host path. */
static bool host_path_rule_matches(const struct rule *rule, const char *host)
{
	const char *rest = path_get_rest_below(host, rule->host_path);

	return rest && (!rule->pattern || (*rest && glob_matches(&rule->glob, rest, strlen(rest))));
}

bool policy_host_paths_are_writable(const struct policy *policy, const char *host, const char *other)
{
	bool together = false;

	for (size_t i = 0; i < policy->rule_count && !together; i++) {
		const struct rule *rule = &policy->rule[i];

		together = rule->kind == RULE_WRITE && !rule->is_overridden && rule->host_path &&
			   strcmp(rule->host_path, other) != 0 && host_path_rule_matches(rule, host) &&
			   host_path_rule_matches(rule, other);
	}
	return together && policy_host_path_is_writable(policy, host) && policy_host_path_is_writable(policy, other);
}
