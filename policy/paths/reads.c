#include "policy/paths/reads.h"

#include <string.h>

#include "base/path.h"
#include "policy/model.h"

/*
 * True for a grant with a glob whose directory is not readable as a whole by another rule. The view shows such a
 * directory with a stand-in, and only a judged call finds the files that match.
 */
static bool reads_rule_needs_judged_listing(const struct policy *policy, const struct rule *rule)
{
	if (!kind_is_grant(rule->kind) || !rule->pattern || (rule->literal_path && !rule->host_path))
		return false;
	return !rule->literal_path || (policy_get_rights(policy, rule->literal_path, strlen(rule->literal_path)) &
				  (POLICY_READ | POLICY_PUBLIC)) != POLICY_READ;
}

/*
 * True for a grant of devices other than those that every view has. Such a mount shows the devices of the host. Whether
 * a device is a terminal of another run or user is only known when it is opened.
 */
static bool reads_rule_grants_devices(const struct rule *rule)
{
	static const char *const harmless[] = {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"};

	if (!kind_is_grant(rule->kind) || !rule->host_path || !path_is_below(rule->host_path, "/dev"))
		return false;
	for (size_t i = 0; i < sizeof(harmless) / sizeof(harmless[0]); i++)
		if (strcmp(rule->host_path, harmless[i]) == 0)
			return false;
	return true;
}

/* True for a rule by which reading can be denied. */
static bool kind_denies_reading(enum rule_kind kind)
{
	return kind == RULE_DENY || kind == RULE_PRIVATE || kind == RULE_PUBLIC;
}

/* Returns why the kernel cannot decide on reading, with "judge": "changes", because of this rule; NULL: it can. */
static const char *reads_explain_obstacle_in_rule(const struct policy *policy, const struct rule *rule)
{
	if (rule->is_overridden)
		return NULL;
	if (rule->hides_name)
		return "hides packages, whose names a mount would list";
	if (rule->kind == RULE_DECOY)
		return "is a decoy, and only a judged call tells that it is read";
	if (rule->kind == RULE_AFTER_READ)
		return "has an effect once it is read, which only a judged call tells";
	if (kind_denies_reading(rule->kind) && rule->on_deny > ON_DENY_ERRNO)
		return "has an \"on_deny\", and only a judged call tells that reading is denied";
	if (reads_rule_grants_devices(rule))
		return "grants devices, and only a judged call tells whether one is a terminal that is not the run's";
	if (reads_rule_needs_judged_listing(policy, rule))
		return "grants a pattern, and a mount can only grant a whole tree";
	return NULL;
}

/* Returns why the kernel cannot decide on reading because of a setting, which *ret_setting names; NULL: it can. */
static const char *reads_explain_obstacle_in_settings(const struct policy *policy, const char **ret_setting)
{
	if (policy_is_observing(policy)) {
		*ret_setting = "--mode observe";
		return "records each call with the policy's verdict";
	}
	if (policy->settings.on_deny > ON_DENY_ERRNO) {
		*ret_setting = "\"on_deny\"";
		return "is not \"errno\", and only a judged call tells that reading is denied";
	}
	if (policy->settings.audits_fstat) {
		*ret_setting = "\"audit.fstat\"";
		return "asks to record what only reads";
	}
	return NULL;
}

bool policy_find_kernel_reads_obstacle(const struct policy *policy, struct policy_kernel_reads_obstacle *ret_obstacle)
{
	const char *rule = NULL, *why = reads_explain_obstacle_in_settings(policy, &rule);

	for (size_t i = 0; !why && i < policy->rule_count; i++) {
		rule = policy->rule[i].label;
		why = reads_explain_obstacle_in_rule(policy, &policy->rule[i]);
	}
	if (!why)
		return false;
	*ret_obstacle = (struct policy_kernel_reads_obstacle){rule, why};
	return true;
}

void compile_check_kernel_reads(struct compiler *compiler)
{
	const struct policy *policy = compiler->policy;
	struct policy_kernel_reads_obstacle obstacle;

	if (compiler->has_failed || policy_get_judge_mode(policy) != POLICY_JUDGE_CHANGES ||
	    !policy_find_kernel_reads_obstacle(policy, &obstacle))
		return;
	compiler_add_warning(compiler, "%s: warning: every call will be judged, as with \"all\": %s %s",
			     policy->judge_source_location, obstacle.rule, obstacle.why);
}
