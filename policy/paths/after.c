/* after_read: which entries a read fires, and what is closed when they have fired. */
#include "policy/paths/after.h"

#include <limits.h>
#include <string.h>

#include "base/path.h"
#include "policy/model.h"
#include "policy/paths/explain.h"

#define AFTER_ENTRY_BIT(index) (UINT32_C(1) << (index))

size_t policy_count_after_entries(const struct policy *policy)
{
	return policy_get_judged_policy(policy)->after_entry_count;
}

const char *policy_get_after_label(const struct policy *policy, unsigned index)
{
	return policy_get_judged_policy(policy)->after_entry[index].source_entry->label;
}

const char *policy_get_after_because_text(const struct policy *policy, unsigned index)
{
	return policy_get_judged_policy(policy)->after_entry[index].source_entry->because_text;
}

uint32_t policy_find_entries_fired_by_read(const struct policy *policy, const char *path, size_t len)
{
	const struct policy *judged = policy_get_judged_policy(policy);

	return judged->fired_after_entries ? policy_find_rules(judged, path, len).after_read_entries : 0;
}

/* True when the rule may match something below the directory `path`. literal: one of the rule's literal parts. */
static bool after_may_match_below(const struct rule *rule, const char *literal, const char *path)
{
	const char *rest = path_get_rest_below(path, literal);

	if (path_is_below(literal, path))
		return true;
	return rest && rule->pattern && glob_may_match_below(&rule->glob, rest, strlen(rest));
}

/* True when the rule may match something below `path` or, where that is in a remapped mount, below its other names. */
static bool after_may_match_any(const struct policy *policy, const struct rule *rule, const char *path)
{
	const char *literals[] = {rule->literal_path ? rule->literal_path : "/", rule->literal_alias,
				  rule_get_denied_path(rule)};
	char host[PATH_MAX];
	bool mapped = policy_map_to_host(policy, path, host) > 0;

	for (size_t i = 0; i < sizeof(literals) / sizeof(literals[0]); i++)
		if (literals[i] && (after_may_match_below(rule, literals[i], path) ||
				    (mapped && after_may_match_below(rule, literals[i], host))))
			return true;
	return false;
}

uint32_t policy_find_entries_fired_by_read_below(const struct policy *policy, const char *path, size_t len)
{
	const struct policy *judged = policy_get_judged_policy(policy);
	uint32_t found = policy_find_entries_fired_by_read(policy, path, len);

	for (size_t i = 0; judged->fired_after_entries && i < judged->rule_count; i++) {
		const struct rule *rule = &judged->rule[i];

		if (rule->kind == RULE_AFTER_READ && !rule->is_overridden && after_may_match_any(judged, rule, path))
			found |= AFTER_ENTRY_BIT(rule->after_entry_index);
	}
	return found;
}

void policy_fire_after_entries(const struct policy *policy, uint32_t entries)
{
	const struct policy *judged = policy_get_judged_policy(policy);

	if (judged->fired_after_entries)
		*judged->fired_after_entries |= entries;
}

/* The entries of after_read that have fired, as bits; of the judged policy. */
uint32_t policy_get_fired_after_entries(const struct policy *policy)
{
	const struct policy *judged = policy_get_judged_policy(policy);

	return judged->fired_after_entries ? *judged->fired_after_entries : 0;
}

uint32_t policy_get_entries_closing_writing(const struct policy *policy)
{
	return policy_get_judged_policy(policy)->after_entries_closing_writing;
}

uint32_t policy_get_entries_closing_network(const struct policy *policy)
{
	return policy_get_judged_policy(policy)->after_entries_closing_network;
}

/* The name of the first entry in a set; NULL: the set is empty. */
static const char *after_get_first_label(const struct policy *policy, uint32_t entries)
{
	return entries ? policy->after_entry[__builtin_ctz(entries)].source_entry->label : NULL;
}

uint32_t policy_find_entries_that_can_close_writing(const struct policy *policy, const char *path, size_t len)
{
	const struct policy *judged = policy_get_judged_policy(policy);

	return judged->fired_after_entries ? judged->after_entries_closing_writing &
						     ~policy_find_rules(judged, path, len).after_write_entries
					   : 0;
}

uint32_t policy_find_entries_that_closed_writing(const struct policy *policy, const char *path, size_t len)
{
	const struct policy *judged = policy_get_judged_policy(policy);

	if (!judged->fired_after_entries || !(*judged->fired_after_entries & judged->after_entries_closing_writing))
		return 0;
	return *judged->fired_after_entries & judged->after_entries_closing_writing &
	       ~policy_find_rules(judged, path, len).after_write_entries;
}

const char *policy_find_entry_that_closed_network(const struct policy *policy)
{
	const struct policy *judged = policy_get_judged_policy(policy);

	return judged->fired_after_entries
		       ? after_get_first_label(judged,
					       *judged->fired_after_entries & judged->after_entries_closing_network)
		       : NULL;
}
