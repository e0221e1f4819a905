/* Functions that return parts of a compiled policy. */
#include <stdlib.h>
#include <string.h>

#include "policy/model.h"

const char *verdict_get_name(enum verdict verdict)
{
	static const char *const names[] = {
		[VERDICT_DENY] = "deny",       [VERDICT_ALLOW] = "allow", [VERDICT_REDIRECT] = "redirect",
		[VERDICT_PROVIDE] = "provide", [VERDICT_KILL] = "kill",   [VERDICT_ASK] = "ask",
	};
	_Static_assert(sizeof(names) / sizeof(names[0]) == VERDICT_MAX, "every verdict has a name");

	return names[verdict];
}

void policy_free(struct policy *policy)
{
	if (!policy)
		return;
	policy_free(policy->judged_policy);
	policy_free(policy->with_asked_execs);
	arena_release(&policy->arena);
	free(policy);
}

bool policy_is_observing(const struct policy *policy)
{
	return policy->judged_policy != NULL;
}

const struct policy *policy_get_judged_policy(const struct policy *policy)
{
	return policy->judged_policy ? policy->judged_policy : policy;
}

const struct policy *policy_get_with_asked_execs(const struct policy *policy)
{
	return policy->with_asked_execs ? policy->with_asked_execs : policy;
}

const struct policy_mount *policy_get_mounts(const struct policy *policy, size_t *ret_count)
{
	*ret_count = policy->mount_count;
	return policy->mount;
}

const struct policy_link *policy_get_links(const struct policy *policy, size_t *ret_count)
{
	*ret_count = policy->link_count;
	return policy->link;
}

bool policy_get_next_exec(const struct policy *policy, size_t *at, struct policy_exec *ret_exec)
{
	while (*at < policy->rule_count) {
		const struct rule *rule = &policy->rule[(*at)++];

		if (rule->kind != RULE_EXEC || rule->is_overridden || !rule->literal_path || !rule->host_path)
			continue;
		*ret_exec = (struct policy_exec){rule->literal_path, rule->pattern ? &rule->glob : NULL};
		return true;
	}
	return false;
}

const struct policy_env *policy_get_env(const struct policy *policy, size_t *ret_count)
{
	*ret_count = policy->env_count;
	return policy->env;
}

const char *policy_phase_get_name(enum policy_phase phase)
{
	return phase == POLICY_PHASE_SETUP ? "setup" : "run";
}

/* True for a variable that a secret is read from. It is withheld in every phase, also in one without network. */
static bool policy_variable_is_secret_source(const struct policy *policy, const char *name)
{
	for (size_t i = 0; i < policy->network.secret_count; i++) {
		const char *from = policy->network.secret[i].value_source;

		if (strncmp(from, "env:", 4) == 0 && strcmp(from + 4, name) == 0)
			return true;
	}
	return false;
}

bool policy_env_passes_variable(const struct policy *policy, const char *name)
{
	bool passes = false;

	if (policy_variable_is_secret_source(policy, name))
		return false;
	for (size_t i = 0; i < policy->env_count; i++) {
		const struct policy_env *env = &policy->env[i];
		size_t len = strlen(env->name);

		if (strcmp(env->name, name) == 0)
			return !env->value; /* a value of env.set wins over a prefix in env.pass */
		if (!env->value && env->name[len - 1] == '*' && strncmp(env->name, name, len - 1) == 0)
			passes = true;
	}
	return passes;
}

const struct policy_settings *policy_get_settings(const struct policy *policy)
{
	return &policy->settings;
}

const char *const *policy_get_warnings(const struct policy *policy, size_t *ret_count)
{
	*ret_count = policy->warning_count;
	return policy->warning;
}
