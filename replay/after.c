/* Follows which entries of after_read a recorded run would have fired under the judge's policy. */
#include <string.h>

#include "policy/paths/after.h"
#include "replay/query.h"

/* Returns the bits of the after_read entries that are fired by reading query->paths[at]. */
static uint32_t after_find_entries_of_read_path(const struct policy *policy, const struct query *query, size_t at)
{
	const struct query_path *path = &query->paths[at];

	return policy_find_entries_fired_by_read(policy, path->canonical_path, path->len);
}

/* The after_read entries, as bits, that reading anything in the directory at path `at` would fire. */
static uint32_t after_find_entries_of_moved_dir(const struct policy *policy, const struct query *query, size_t at)
{
	return policy_find_entries_fired_by_read_below(policy, query->paths[at].canonical_path, query->paths[at].len);
}

void query_fire_after_entries(const struct query_judge *judge, const struct query *query,
			      const struct query_answer *answer)
{
	const struct policy *policy = query_judge_get_policy(judge);
	uint32_t found = 0;

	if (policy_count_after_entries(policy) == 0 || query->kind != QUERY_PATHS || !answer->is_certain ||
	    !answer->is_allowed)
		return;
	if (query->content_access == QUERY_READS && !query->was_allowed_but_failed && !query->was_found_absent) {
		for (size_t i = 0; i < query->path_count; i++)
			found |= after_find_entries_of_read_path(policy, query, i);
	} else if (query->content_access >= QUERY_MOVES) {
		found = after_find_entries_of_moved_dir(policy, query, 0);
		if (query->content_access == QUERY_EXCHANGES && query->path_count > 1)
			found |= after_find_entries_of_moved_dir(policy, query, 1);
	}
	policy_fire_after_entries(policy, found);
}

/* Whether the record is about this entry ("data.json: after_read[0]"). The name of the policy's file may differ. */
static bool after_record_is_about_entry(const struct scan_record *record, const char *label)
{
	const char *key = strstr(label, ": after_read[");
	char rule[512];
	const char *recorded;

	if (scan_copy_unescaped_bytes(&record->rule, rule, sizeof(rule)) < 0)
		return false;
	recorded = strstr(rule, ": after_read[");
	return key && recorded && strcmp(key, recorded) == 0;
}

/*
 * If the record tells that an entry of after_read fired, fires the entries of this policy that the same read fires.
 * False: it tells no such thing.
 */
bool query_fire_after_entry_of_event(const struct query_judge *judge, const struct scan_record *record)
{
	const struct policy *policy = query_judge_get_policy(judge);
	const size_t count = policy_count_after_entries(policy);
	char path[PATH_MAX];
	uint32_t found, below;
	int len;

	if (!scan_text_equals(&record->event, "after_read"))
		return false;
	if (count == 0 || !scan_text_equals(&record->reason, "fired"))
		return true;
	len = scan_copy_unescaped_bytes(&record->path[0].as_written, path, sizeof(path));
	if (len <= 0)
		return true;
	found = policy_find_entries_fired_by_read(policy, path, (size_t)len);
	/* if the call was a rename(2) of a directory, files below the path fire entries, too */
	below = policy_find_entries_fired_by_read_below(policy, path, (size_t)len);
	for (unsigned i = 0; i < count; i++)
		if (below & UINT32_C(1) << i && after_record_is_about_entry(record, policy_get_after_label(policy, i)))
			found |= UINT32_C(1) << i;
	policy_fire_after_entries(policy, found);
	return true;
}
