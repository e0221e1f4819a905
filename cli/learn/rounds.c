/* Learns in rounds: runs the program, adds rules for denied accesses, and runs the program again. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/learn/learn.h"
#include "supervisor/report.h"

/* rounds of adding rules; each adds rules for needs that the rules so far do not grant */
#define LEARN_FOLD_ROUNDS_MAX 8
/* rounds of verification; each adds rules for what the verification was denied */
#define LEARN_VERIFICATION_ROUNDS_MAX 3u

/* A larger profile is chosen if it leaves at least this many fewer needs without a grant. */
#define LEARN_NEEDS_MET_BY_LARGER_PROFILE_MIN 12u

/*
 * Chooses the profile that leaves the fewest needs without a grant; a larger profile only if it leaves many fewer.
 * *ret_changed: another profile was chosen.
 */
static int learn_choose_profile(struct learn *learn, bool *ret_changed)
{
	static const char *const larger[] = {"python", "data"};
	size_t least, count;
	int r;

	*ret_changed = false;
	if (learn->merge || learn->profile)
		return 0;
	r = learn_count_unmet_needs(learn, learn->base_profile, &least);
	for (size_t i = 0; r == 0 && i < sizeof(larger) / sizeof(larger[0]); i++) {
		r = learn_count_unmet_needs(learn, larger[i], &count);
		if (r < 0 || count + LEARN_NEEDS_MET_BY_LARGER_PROFILE_MIN > least)
			continue;
		least = count;
		learn->base_profile = larger[i];
		*ret_changed = true;
	}
	return r;
}

/* Whether a policy's list of paths, as texts or objects with a "path", has this one. */
static bool learn_list_has_path(const json_t *list, const json_t *path)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *entry = json_array_get(list, i);

		if (json_equal(json_is_string(entry) ? entry : json_object_get(entry, "path"), path))
			return true;
	}
	return false;
}

/*
 * Stores in learn->unmet_needs the needs that the rules do not grant although they might be granted. The verification
 * will show whether they matter.
 */
static int learn_store_needs_left_unmet(struct learn *learn)
{
	_cleanup_free_ struct unmet_need *unmet = NULL;
	size_t count;
	int r = learn_find_unmet_needs(learn, &unmet, &count);

	json_array_clear(learn->unmet_needs);
	for (size_t i = 0; r == 0 && i < count; i++) {
		const char *right = unmet[i].right == POLICY_EXEC    ? "exec"
				    : unmet[i].right == POLICY_WRITE ? "write"
								     : "read";
		_cleanup_json_ json_t *path = report_make_text_json(unmet[i].need->path);

		if (!path)
			r = -ENOMEM;
		else if (!learn_list_has_path(learn->draft.disabled_paths, path) &&
			 !learn_list_has_path(learn->draft.ungrantable, path) &&
			 json_array_append_new(learn->unmet_needs,
					       json_pack("{s:O, s:s}", "path", path, "right", right)) < 0)
			r = -ENOMEM;
	}
	return r;
}

/* Adds rules until every need is granted that a rule may grant. 0 or -errno, with a message. */
static int learn_add_rules_until_granted(struct learn *learn)
{
	const struct fold_context context = {.home = learn->home,
					     .workdir_in_view = learn->workdir_in_view,
					     .workdir_host_path = learn->workdir,
					     .inodes = learn->inodes,
					     .allows_risky = learn->allow_risky};
	size_t before = SIZE_MAX;
	int r = learn_mark_granted_endpoints(learn);

	if (r < 0)
		return r;
	r = learn_add_endpoints(&learn->draft, &learn->needs, learn->allow_risky);
	if (r == 0)
		r = fold_deny_secrets(&learn->draft, &learn->needs, &context);
	if (r < 0)
		return cli_fail_no_memory("learn"), r;
	for (int round = 0; r == 0 && round < LEARN_FOLD_ROUNDS_MAX; round++) {
		_cleanup_free_ struct unmet_need *unmet = NULL;
		size_t count;

		r = learn_find_unmet_needs(learn, &unmet, &count);
		if (r < 0 || count == 0)
			break;
		r = fold_add_rules_for_unmet_needs(&learn->draft, &learn->needs, learn->packages, &context, unmet,
						   count, round > 0 && count == before);
		before = count;
	}
	if (r == 0)
		r = learn_deny_secrets(learn);
	return r < 0 ? r : learn_store_needs_left_unmet(learn);
}

/* Runs the program under the policy, adds rules for what it was denied, and runs it again. */
static int learn_verify_until_proven(struct learn *learn)
{
	int r = 0;

	while (r == 0 && learn->verification_rounds < LEARN_VERIFICATION_ROUNDS_MAX) {
		r = learn_verify(learn);
		if (r < 0 || json_array_size(learn->wrong_denials) == 0 ||
		    learn->verification_rounds == LEARN_VERIFICATION_ROUNDS_MAX)
			return r;
		r = learn_add_rules_until_granted(learn);
		if (r == 0)
			r = draft_write(&learn->draft, learn->draft_path, false);
	}
	return r;
}

int learn_from_runs(struct learn *learn)
{
	bool changed = false;
	int r = learn_from_observed_runs(learn);

	if (r == 0)
		r = learn_choose_profile(learn, &changed);
	if (r == 0 && changed) { /* another profile gives the program another environment, so it runs once more */
		needs_release(&learn->needs);
		json_array_clear(learn->own_refusals);
		r = learn_prepare_runs(learn);
		if (r == 0)
			r = learn_from_observed_runs(learn);
	}
	if (r == 0)
		r = learn_add_rules_until_granted(learn);
	if (r == 0 && !learn->no_verify)
		r = learn_verify_until_proven(learn);
	return r;
}

int learn_from_executable(struct learn *learn)
{
	int r = learn_inspect_program(&learn->needs, learn->fixed);

	return r < 0 ? r : learn_add_rules_until_granted(learn);
}
