/*
 * What follows a denial, or the reading of a decoy, besides its record: the modes of "on_deny" and "on_read". And who
 * judges what only reads: "judge"; and where writes go: "workspace.mode".
 */
#include "policy/modes.h"

#include <string.h>

#include "policy/model.h"

const char *const policy_on_deny_names[] = {"errno", "kill", "stop", "ask-file", "ask", NULL};
const char *const policy_on_read_names[] = {"flag", "kill", NULL};
_Static_assert(sizeof(policy_on_deny_names) / sizeof(policy_on_deny_names[0]) == ON_DENY_MAX, "each mode has a name");

const char *const policy_judge_names[] = {"all", "changes", NULL};
_Static_assert(sizeof(policy_judge_names) / sizeof(policy_judge_names[0]) == POLICY_JUDGE_MAX, "each mode has a name");

const char *const policy_workspace_names[] = {"direct", "cow", NULL};
_Static_assert(sizeof(policy_workspace_names) / sizeof(policy_workspace_names[0]) == POLICY_WORKSPACE_MAX,
	       "each mode has a name");

const char *policy_judge_get_name(enum policy_judge judge)
{
	return policy_judge_names[judge == POLICY_JUDGE_UNSET ? 0 : judge - POLICY_JUDGE_ALL];
}

enum policy_judge policy_get_judge_mode(const struct policy *policy)
{
	return policy->settings.judge == POLICY_JUDGE_UNSET ? POLICY_JUDGE_ALL : policy->settings.judge;
}

const char *policy_on_deny_get_name(enum policy_on_deny mode)
{
	return policy_on_deny_names[mode == ON_DENY_UNSET ? 0 : mode - ON_DENY_ERRNO];
}

/* Whether two rules are of one kind and for one path. */
static bool on_deny_rules_are_for_one_path(const struct rule *a, const struct rule *b)
{
	return a->kind == b->kind && strcmp(a->expanded_path.path, b->expanded_path.path) == 0;
}

/*
 * Rules of one kind for one path decide alike, and a record may name any of them. So all of them get the "on_deny" of
 * the last one that has it. Denials that ask are an exception: they yield to rules of "deny" that do not.
 */
static void on_deny_set_for_path(struct policy *policy, const struct rule *rule)
{
	for (size_t i = 0; i < policy->rule_count; i++) {
		struct rule *same = &policy->rule[i];

		if (on_deny_rules_are_for_one_path(same, rule))
			same->on_deny = rule->on_deny;
	}
}

/* Takes the question from a rule that asks, with a warning, if another one for its path does not ask. */
static void on_deny_yield(struct compiler *compiler, struct rule *asking)
{
	const struct policy *policy = compiler->policy;

	for (size_t i = 0; i < policy->rule_count && policy_on_deny_asks(asking->on_deny); i++) {
		const struct rule *same = &policy->rule[i];

		if (same->denial_asks || same->hides_name || !on_deny_rules_are_for_one_path(same, asking))
			continue;
		asking->on_deny = same->on_deny;
		compiler_add_warning(compiler, "%s: warning: asks about nothing: no answer beats %s",
				     asking->source_location, same->label);
	}
}

/* Notes the "on_deny" of a rule, if it has one. */
static void on_deny_add_rule(struct policy *policy, const char *label, enum policy_on_deny mode)
{
	if (mode != ON_DENY_UNSET)
		ARENA_APPEND(&policy->arena, policy->rule_on_deny, policy->rule_on_deny_count,
			     ((struct policy_rule_on_deny){label, mode}));
}

void compile_on_deny(struct compiler *compiler)
{
	struct policy *policy = compiler->policy;

	for (size_t i = 0; i < policy->rule_count; i++)
		if (policy->rule[i].denial_asks)
			on_deny_yield(compiler, &policy->rule[i]);
	for (size_t i = policy->rule_count; i-- > 0;) /* backwards, so that what later rules say is kept */
		if (policy->rule[i].on_deny != ON_DENY_UNSET && !policy->rule[i].denial_asks)
			on_deny_set_for_path(policy, &policy->rule[i]);
	for (size_t i = 0; i < policy->rule_count; i++)
		on_deny_add_rule(policy, policy->rule[i].label, policy->rule[i].on_deny);
	for (size_t i = 0; i < policy->network.rule_count; i++)
		on_deny_add_rule(policy, policy->network.rule[i].label, policy->network.rule[i].on_deny);
	for (size_t i = 0; i < policy->network.deny_count; i++)
		on_deny_add_rule(policy, policy->network.deny[i].label, policy->network.deny[i].on_deny);
	policy->network.asks_about_denials = policy->settings.on_deny == ON_DENY_ASK;
}

enum policy_on_deny policy_find_on_deny(const struct policy *policy, const char *rule)
{
	for (size_t i = 0; rule && i < policy->rule_on_deny_count; i++)
		if (strcmp(policy->rule_on_deny[i].label, rule) == 0)
			return policy->rule_on_deny[i].on_deny;
	if (policy->settings.on_deny <= ON_DENY_ERRNO)
		return ON_DENY_ERRNO;
	for (size_t i = 0; rule && i < policy->rule_count; i++)
		if (policy->rule[i].hides_name && strcmp(policy->rule[i].label, rule) == 0)
			return ON_DENY_ERRNO; /* programs look for packages that they can do without */
	return policy->settings.on_deny;
}

bool policy_has_on_deny_actions(const struct policy *policy)
{
	return policy->rule_on_deny_count > 0 || policy->settings.on_deny > ON_DENY_ERRNO;
}

void on_deny_check_after_entries(struct compiler *compiler)
{
	const struct policy *policy = compiler->policy;

	if (policy->after_entry_count > 0 && policy_asks_about_denials(policy))
		compiler_add_error(compiler, policy->after_entry[0].source_entry->source_location,
				   "cannot stand in one policy with \"on_deny\": \"%s\", because an answer "
				   "could permit what an entry has closed; remove one of the two",
				   policy_on_deny_get_name(
					   policy_asks_in_mode(policy, ON_DENY_ASK) ? ON_DENY_ASK : ON_DENY_ASK_FILE));
}

bool policy_asks_in_mode(const struct policy *policy, enum policy_on_deny mode)
{
	for (size_t i = 0; i < policy->rule_on_deny_count; i++)
		if (policy->rule_on_deny[i].on_deny == mode)
			return true;
	return policy->settings.on_deny == mode;
}

bool policy_asks_about_denials(const struct policy *policy)
{
	return policy_asks_in_mode(policy, ON_DENY_ASK_FILE) || policy_asks_in_mode(policy, ON_DENY_ASK);
}

bool policy_decoy_read_ends_run(const struct policy *policy, const char *rule)
{
	for (size_t i = 0; rule && i < policy->rule_count; i++)
		if (policy->rule[i].decoy_read_ends_run && strcmp(policy->rule[i].label, rule) == 0)
			return true;
	return false;
}
