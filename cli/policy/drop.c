/*
 * Drops and narrows the rules of a policy that recorded runs did not need. Each change is tried: the changed policy is
 * compiled and judges every access that the runs used.
 */
#include "cli/policy/minimise.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * The lists of rules that may be dropped: only grants. Without a denial, a redirect or a variable, the policy would
 * grant more or do something else.
 */
static const struct {
	const char *section, *name, *key;
	bool right;
} lists[] = {
	{"filesystem", "write", "filesystem.write", true}, {"filesystem", "exec", "filesystem.exec", true},
	{"filesystem", "read", "filesystem.read", true},   {"filesystem", "public", "filesystem.public", true},
	{"network", "allow", "network.allow", false},	   {"network", "listen", "network.listen", false},
};
#define MINIMISE_LISTS_COUNT (sizeof(lists) / sizeof(lists[0])) /* lists of a policy of which entries are dropped */

/* Rules that `callgate policy minimise` tries to drop. */
struct rule_list {
	struct minimise_rule *rule; /* array of rules; owned */
	size_t count;
};

/*
 * Whether a rule may be changed. A rule with "disabled" stays, because it records why it was left out. The rule for the
 * workdir stays, because the program starts there.
 */
static bool minimise_may_change_rule(const json_t *entry)
{
	const char *text = minimise_get_path_or_host_of_entry(entry);

	return !json_object_get(entry, "disabled") && !(text && strcmp(text, "@workdir") == 0);
}

/* Lists the policy's rules that may be dropped or narrowed. 0 or -ENOMEM. */
static int minimise_list_rules(const struct minimise *all, struct rule_list *ret_rules)
{
	for (size_t i = 0; i < MINIMISE_LISTS_COUNT; i++) {
		json_t *list = json_object_get(json_object_get(all->policy_root, lists[i].section), lists[i].name);
		struct minimise_rule *more =
			reallocarray(ret_rules->rule, ret_rules->count + json_array_size(list) + 1, sizeof(*more));

		if (!more)
			return -ENOMEM;
		ret_rules->rule = more;
		for (size_t at = 0; at < json_array_size(list); at++)
			more[ret_rules->count++] =
				(struct minimise_rule){list, json_array_get(list, at), lists[i].key,
						       lists[i].right ? lists[i].name : NULL};
	}
	return 0;
}

/* Sorts the widest rules first, so that of two rules that grant the same the narrower one stays. */
static int minimise_compare_rules_by_width(const void *a, const void *b)
{
	const struct minimise_rule *one = a, *other = b;
	const char *first = minimise_get_path_or_host_of_entry(one->entry),
		   *second = minimise_get_path_or_host_of_entry(other->entry);
	size_t first_len = first ? strlen(first) : 0, second_len = second ? strlen(second) : 0;

	return first_len == second_len ? strcmp(first ? first : "", second ? second : "")
				       : (first_len > second_len) - (first_len < second_len);
}

/* Tries to drop a rule. True: it was dropped, because no used access needs it. */
static bool minimise_drop_rule(struct minimise *all, struct minimise_rule *rule)
{
	size_t at = minimise_get_index_of_entry(rule);
	json_t *entry = json_incref(rule->entry);
	const char *text = minimise_get_path_or_host_of_entry(entry);
	bool dropped;

	(void)json_array_remove(rule->list, at);
	dropped = minimise_find_lost_accesses(all, NULL, NULL) == 0;
	if (dropped)
		minimise_print_change("dropped", rule, text ? text : "", NULL);
	else
		(void)json_array_insert(rule->list, at, entry);
	all->dropped += dropped;
	json_decref(entry);
	return dropped;
}

/*
 * Drops those requests of a network rule that no run made. The last request stays, because a rule without requests
 * allows every request.
 */
static void minimise_drop_requests(struct minimise *all, struct minimise_rule *rule)
{
	json_t *http = json_object_get(rule->entry, "http");

	for (size_t i = json_array_size(http); i-- > 0 && json_array_size(http) > 1;) {
		struct minimise_rule item = {http, json_array_get(http, i), "network.allow[].http", NULL};

		(void)minimise_drop_rule(all, &item);
	}
}

/*
 * Drops each rule without which no access is lost, the widest first, then narrows the others. 0, or not 0: no memory.
 */
static int minimise_drop_and_narrow_rules(struct minimise *all, struct rule_list *rules)
{
	int r = 0;

	qsort(rules->rule, rules->count, sizeof(*rules->rule), minimise_compare_rules_by_width);
	for (size_t i = 0; i < rules->count; i++) {
		struct minimise_rule *rule = &rules->rule[i];
		bool listen = strcmp(rule->key, "network.listen") == 0;

		if (minimise_may_change_rule(rule->entry) && !(listen && all->a_run_connected_to_itself) &&
		    minimise_drop_rule(all, rule))
			rule->entry = NULL;
	}
	for (size_t i = 0; r == 0 && i < rules->count; i++) {
		struct minimise_rule *rule = &rules->rule[i];

		if (!rule->entry || !minimise_may_change_rule(rule->entry))
			continue;
		if (rule->right)
			r = minimise_narrow_rule(all, rule);
		else
			minimise_drop_requests(all, rule);
	}
	return r;
}

/* Tries once to drop or narrow each rule. 0, or not 0 if memory ran out. */
static int minimise_try_all_rules(struct minimise *all)
{
	struct rule_list rules = {NULL, 0};
	int r = minimise_list_rules(all, &rules);

	if (r == 0)
		r = minimise_drop_and_narrow_rules(all, &rules);
	free(rules.rule);
	return r;
}

int minimise_drop_and_narrow_repeatedly(struct minimise *all)
{
	size_t before;
	int r;

	do { /* a rule that was narrowed can make another rule superfluous */
		before = all->dropped + all->narrowed;
		r = minimise_try_all_rules(all);
	} while (r == 0 && all->dropped + all->narrowed > before);
	/* Each change was tried when it was made. Now the policy with all changes is checked, too. */
	return r == 0 ? minimise_find_lost_accesses(all, NULL, NULL) : r;
}
