/* Compiles the policy that callgate policy minimise is changing, and finds the recorded accesses that it would deny. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/policy/minimise.h"

/* Loads a policy file as host.c does, but takes the text of the policy that is being changed from memory. */
static int minimise_load_text(void *ctx, const char *name, const char *from, char **ret_text, char **ret_path)
{
	const struct minimise_runs *runs = ctx;

	if (from || strcmp(name, runs->all->policy_path) != 0)
		return runs->load(ctx, name, from, ret_text, ret_path);
	*ret_text = strdup(runs->all->policy_text);
	*ret_path = strdup(name);
	if (*ret_text && *ret_path)
		return 0;
	free(*ret_text);
	free(*ret_path);
	return -ENOMEM;
}

void minimise_read_policy_from_memory(struct minimise_runs *runs)
{
	runs->load = runs->host.policy.load;
	runs->host.policy.load = minimise_load_text;
}

/* Callback for lost accesses that ends the search at the first one. */
static int minimise_stop_at_lost_access(void *ctx, const struct query *query, const struct query_answer *answer)
{
	(void)ctx;
	(void)query;
	(void)answer;
	return 1;
}

/* The search for accesses of the runs that a changed policy denies. */
struct lost_access_search {
	minimise_loss_fn *each;
	void *ctx;
	bool any; /* at least one access is lost */
};

/* Notes that an access is lost, and passes it on to the search's own callback. */
static int minimise_visit_lost_access(void *ctx, const struct query *query, const struct query_answer *answer)
{
	struct lost_access_search *loss = ctx;

	loss->any = true;
	return loss->each(loss->ctx, query, answer);
}

/*
 * Judges the accesses of a group of runs by the changed policy; `loss` is told of each lost one. Not 0: not possible.
 */
static int minimise_judge_runs(struct minimise *all, struct minimise_runs *runs, struct lost_access_search *loss)
{
	struct cli_policy_options options = all->policy; /* a copy that borrows the lists */
	_cleanup_policy_ struct policy *policy = NULL;
	struct query_judge *judge = NULL;
	int r;

	if (!options.workdir && runs->workdir) {
		options.workdir = runs->workdir;
		options.workdir_as_written = runs->workdir;
	}
	r = cli_try_to_load_policy(&options, &runs->host, &policy);
	if (r == 0)
		r = query_judge_create(policy, &judge);
	if (r != 0)
		return r;
	r = used_find_lost_accesses(&runs->used_accesses, judge, minimise_visit_lost_access, loss);
	query_judge_free(judge);
	return r < 0 ? r : 0;
}

int minimise_find_lost_accesses(struct minimise *all, minimise_loss_fn *each, void *ctx)
{
	struct lost_access_search loss = {each ? each : minimise_stop_at_lost_access, ctx, false};
	int r = 0;

	free(all->policy_text);
	all->policy_text = json_dumps(all->policy_root, JSON_INDENT(1));
	if (!all->policy_text)
		return -ENOMEM;
	for (size_t i = 0; i < all->run_group_count && r == 0 && !(loss.any && !each); i++)
		r = minimise_judge_runs(all, all->runs[i], &loss);
	return r < 0 ? r : loss.any;
}

const char *minimise_get_path_or_host_of_entry(const json_t *entry)
{
	static const char *const keys[] = {"path", "host"};

	for (size_t i = 0; i < 2 && json_is_object(entry); i++)
		if (json_is_string(json_object_get(entry, keys[i])))
			return json_string_value(json_object_get(entry, keys[i]));
	return json_string_value(entry);
}

/* Returns the position of the rule's entry in the policy's JSON list, or the list's length if it is no longer in it. */
size_t minimise_get_index_of_entry(const struct minimise_rule *rule)
{
	size_t at = 0;

	while (at < json_array_size(rule->list) && json_array_get(rule->list, at) != rule->entry)
		at++;
	return at;
}

/* Tells the user of a rule that was dropped or narrowed. into: NULL, or what it became. */
void minimise_print_change(const char *what, const struct minimise_rule *rule, const char *entry, const char *into)
{
	cli_note("%s %s %s%s%s", what, rule->key, entry, into ? " to " : "", into ? into : "");
}
