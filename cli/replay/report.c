/* The report of a replay: groups of records that change in the same way, counted in bounded memory. */
#include <errno.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "cli/replay/replay.h"
#include "supervisor/report.h"

#define REPLAY_GROUPS_MAX 10000u       /* most groups; all further records with the same kind of change are one group */
#define GROUP_PATH_COMPONENTS_MAX 3    /* components of a path by which records are grouped */
/* most bytes of the key by which equal changes are counted as one group */
#define GROUP_KEY_BYTES_MAX (4 * 1024 + PATH_MAX)

/* Records of logs that a policy judges anew with the same kind of change. */
struct replay_group {
	enum replay_change change;
	size_t key_len;
	uint64_t record_count;
	uint64_t seq;       /* sequence number of the group's first record */
	char *log, *object; /* log and object of the first record; owned */
	const char *word, *old_rule, *new_rule, *prefix; /* parts of `key` */
	char key[];
};

/* The records that a policy judges otherwise than their runs did, counted and grouped. */
struct replay_report {
	uint64_t unchanged_count; /* records on which both verdicts are the same */
	uint64_t count_by_change[REPLAY_CHANGE_MAX]; /* records, by how their judgement changes */
	void *tree; /* all groups, sorted by key: tsearch(3) */
	size_t group_count;
	struct replay_group
		*group_to_search_for; /* a group that is used as search key, with room for every key; owned */
	/* the group of the last record, because most records belong to the same group as the one before */
	struct replay_group *last_group;
	bool prints_each_record; /* each changed record is printed when it is judged */
};

static const struct {
	const char *key, *title;
} changes[REPLAY_CHANGE_MAX] = {
	[REPLAY_NEWLY_DENIED] = {"newly_denied", "newly denied"},
	[REPLAY_NEWLY_ALLOWED] = {"newly_allowed", "newly allowed"},
	[REPLAY_SAME_VERDICT_OTHER_RULE] = {"other_rule", "same verdict by another rule"},
	[REPLAY_VERDICT_UNKNOWN] = {"not_replayable", "not replayable"},
};

struct replay_report *replay_report_create(bool list)
{
	struct replay_report *report = calloc(1, sizeof(*report));

	if (report &&
	    !(report->group_to_search_for = calloc(1, sizeof(*report->group_to_search_for) + GROUP_KEY_BYTES_MAX))) {
		free(report);
		return NULL;
	}
	if (report)
		report->prints_each_record = list;
	return report;
}

static void group_free(void *node)
{
	struct replay_group *group = node;

	free(group->log);
	free(group->object);
	free(group);
}

void replay_report_free(struct replay_report *report)
{
	if (!report)
		return;
	tdestroy(report->tree, group_free);
	free(report->group_to_search_for);
	free(report);
}

/* Order for tsearch(3): by the kind of change, then by the key. */
static int group_compare_keys(const void *a, const void *b)
{
	const struct replay_group *one = a, *other = b;
	size_t len = one->key_len < other->key_len ? one->key_len : other->key_len;
	int order = one->change != other->change ? (one->change < other->change ? -1 : 1)
						 : memcmp(one->key, other->key, len);

	return order ? order : (one->key_len > other->key_len) - (one->key_len < other->key_len);
}

/* ---- making the key of a record's group ---- */

/* What records of a group have in common, as bytes that are compared. */
struct replay_group_key {
	size_t len;
	char text[GROUP_KEY_BYTES_MAX];
};

/* Adds a text and a NUL to a key. A text that does not fit is truncated. */
static void group_key_add_text(struct replay_group_key *key, const char *text, size_t len)
{
	size_t room = sizeof(key->text) - key->len - 1;

	if (len > 1023)
		len = 1023;
	if (len > room)
		len = room;
	memcpy(key->text + key->len, text, len);
	key->len += len;
	if (key->len < sizeof(key->text))
		key->text[key->len++] = '\0';
}

/* Adds a text of a record to the key of its group, unescaped; one that is too long counts as empty. */
static void group_key_add_scanned_text(struct replay_group_key *key, const struct scan_text *text)
{
	char bytes[1024];
	int len = text->at ? scan_copy_unescaped_bytes(text, bytes, sizeof(bytes)) : 0;

	group_key_add_text(key, bytes, len > 0 ? (size_t)len : 0);
}

/*
 * The length of what records are grouped by: the directory of a path, at most GROUP_PATH_COMPONENTS_MAX deep, or a
 * whole endpoint.
 */
static size_t group_key_get_object_prefix_len(const struct query *query, const char *object, size_t len)
{
	unsigned names = 0;
	size_t end = 0;

	if (query->kind != QUERY_PATHS)
		return query->kind == QUERY_HTTP_REQUEST ? strcspn(object, "/") : len;
	for (size_t i = 1; i < len && names < GROUP_PATH_COMPONENTS_MAX; i++)
		if (object[i] == '/') {
			end = i;
			names++;
		}
	return end ? end : 1;
}

/* The word for what the query, or its path `at`, wanted: "exec", "connect" … */
static const char *query_get_operation_name(const struct query *query, size_t at)
{
	static const char *const names[] = {[QUERY_CONNECT] = "connect",
					    [QUERY_LISTEN] = "listen",
					    [QUERY_HTTP_REQUEST] = "request",
					    [QUERY_RESOLVE_NAME] = "name"};

	if (query->kind != QUERY_PATHS)
		return names[query->kind];
	return query->paths[at].wanted_rights & POLICY_EXEC    ? "exec"
	       : query->paths[at].wanted_rights & POLICY_WRITE ? "write"
							       : "read";
}

/* Makes the key of a record's group: operation, old rule, new rule or reason, prefix of the object. */
static void group_key_fill(struct replay_group_key *key, const struct scan_record *record, const struct query *query,
			   const struct query_answer *answer, const char *object, size_t len)
{
	const char *rule = answer && answer->is_certain && answer->rule_count ? answer->rules[0] : NULL;
	char reason[64];

	key->len = 0;
	if (!answer || !answer->is_certain) {
		const char *why = answer ? answer->why : query->why_not_judged;

		group_key_add_text(key, why, strlen(why));
		group_key_add_text(key, "", 0);
		group_key_add_text(key, "", 0);
		group_key_add_text(key, "", 0);
		return;
	}
	(void)snprintf(reason, sizeof(reason), "none (%s)", answer->reason ? answer->reason : "granted");
	group_key_add_text(key, query_get_operation_name(query, answer->deciding_path_index),
			   strlen(query_get_operation_name(query, answer->deciding_path_index)));
	if (record->rule.at)
		group_key_add_scanned_text(key, &record->rule);
	else
		group_key_add_text(key, "none", 4);
	group_key_add_text(key, rule ? rule : reason, strlen(rule ? rule : reason));
	group_key_add_text(key, object, group_key_get_object_prefix_len(query, object, len));
}

/* ---- finding groups ---- */

static struct replay_group *group_create(enum replay_change change, const struct replay_group_key *key)
{
	struct replay_group *group = calloc(1, sizeof(*group) + key->len + 1);

	if (!group)
		return NULL;
	group->change = change;
	group->key_len = key->len;
	memcpy(group->key, key->text, key->len);
	group->word = group->key;
	group->old_rule = group->word + strlen(group->word) + 1;
	group->new_rule = group->old_rule + strlen(group->old_rule) + 1;
	group->prefix = group->new_rule + strlen(group->new_rule) + 1;
	return group;
}

/* Finds a group or creates it. NULL: no memory. */
static struct replay_group *report_find_group(struct replay_report *report, enum replay_change change,
					      struct replay_group_key *key)
{
	struct replay_group *group, **found;

	if (report->last_group && report->last_group->change == change && report->last_group->key_len == key->len &&
	    memcmp(report->last_group->key, key->text, key->len) == 0)
		return report->last_group;
	report->group_to_search_for->change = change;
	report->group_to_search_for->key_len = key->len;
	memcpy(report->group_to_search_for->key, key->text, key->len);
	found = tfind(report->group_to_search_for, &report->tree, group_compare_keys);
	if (found)
		return *found;
	if (report->group_count >= REPLAY_GROUPS_MAX) {
		static const char further[] = "further\0\0\0";

		memcpy(key->text, further, sizeof(further));
		key->len = sizeof(further);
	}
	group = group_create(change, key);
	if (!group)
		return NULL;
	found = tsearch(group, &report->tree, group_compare_keys);
	if (!found || *found != group) {
		group_free(group);
		return found ? *found : NULL;
	}
	report->group_count++;
	return group;
}

void replay_report_count_unchanged(struct replay_report *report)
{
	report->unchanged_count++;
}

uint64_t replay_report_get_count(const struct replay_report *report, enum replay_change change)
{
	return report->count_by_change[change];
}

/* Prints a record as one line of JSON, as soon as it is found. */
static int report_print_record(const struct replay_group *group, const struct replay_log *log, uint64_t seq,
			       const char *object)
{
	json_t *json =
		json_pack("{s:s, s:o, s:I, s:o}", "change", changes[group->change].key, "log",
			  report_make_text_json(log->path), "seq", (json_int_t)seq,
			  group->change == REPLAY_VERDICT_UNKNOWN ? "class" : "op", report_make_text_json(group->word));
	_cleanup_free_ char *text = NULL;

	if (group->change != REPLAY_VERDICT_UNKNOWN) {
		(void)json_object_set_new(json, "object", report_make_text_json(object));
		(void)json_object_set_new(json, "was", report_make_text_json(group->old_rule));
		(void)json_object_set_new(json, "now", report_make_text_json(group->new_rule));
	}
	text = json_dumps(json, JSON_COMPACT);
	json_decref(json);
	if (!text)
		return -ENOMEM;
	return text_printf(stdout, "%s\n", text) < 0 ? -EIO : 0;
}

int replay_report_add(struct replay_report *report, enum replay_change change, const struct replay_log *log,
		      const struct scan_record *record, const struct query *query, const struct query_answer *answer)
{
	char object[PATH_MAX + NET_PATH_SIZE];
	size_t len = query->kind == QUERY_RULES_DO_NOT_DECIDE
			     ? 0
			     : query_get_object(query, answer->deciding_path_index, object, sizeof(object));
	struct replay_group *group;
	struct replay_group_key key;

	object[len] = '\0';
	group_key_fill(&key, record, query, answer, object, len);
	group = report_find_group(report, change, &key);
	if (!group)
		return -ENOMEM;
	if (group->record_count++ == 0) {
		group->seq = record->seq;
		group->log = strdup(log->path);
		group->object = strdup(object);
		if (!group->log || !group->object)
			return -ENOMEM;
	}
	report->last_group = group;
	report->count_by_change[change]++;
	return report->prints_each_record ? report_print_record(group, log, record->seq, object) : 0;
}

/* ---- printing the report ---- */

/* The groups of a report in an array, for sorting. */
struct group_listing {
	const struct replay_group **group;
	size_t count;
};

/* Callback of twalk_r(3) that lists each group once. */
static void listing_add_group(const void *node, VISIT visit, void *ctx)
{
	struct group_listing *listing = ctx;

	if (visit == postorder || visit == leaf)
		listing->group[listing->count++] = *(struct replay_group *const *)node;
}

/* Sorts groups by kind of change, then the most frequent first. The order depends on nothing but the records. */
static int listing_compare_groups(const void *a, const void *b)
{
	const struct replay_group *one = *(const struct replay_group *const *)a,
				  *other = *(const struct replay_group *const *)b;

	if (one->change != other->change)
		return one->change < other->change ? -1 : 1;
	if (one->record_count != other->record_count)
		return one->record_count > other->record_count ? -1 : 1;
	return group_compare_keys(one, other);
}

/* Lists the groups, sorted. Owned by the caller; NULL: no memory. */
static const struct replay_group **report_list_groups(const struct replay_report *report, size_t *ret_count)
{
	struct group_listing listing = {calloc(report->group_count + 1, sizeof(const struct replay_group *)), 0};

	if (!listing.group)
		return NULL;
	twalk_r(report->tree, listing_add_group, &listing);
	qsort(listing.group, listing.count, sizeof(const struct replay_group *), listing_compare_groups);
	*ret_count = listing.count;
	return listing.group;
}

static uint64_t report_count_records(const struct replay_report *report)
{
	uint64_t records = report->unchanged_count;

	for (unsigned i = 0; i < REPLAY_CHANGE_MAX; i++)
		records += report->count_by_change[i];
	return records;
}

static void report_print_group(struct buf *text, const struct replay_group *group)
{
	if (group->change == REPLAY_VERDICT_UNKNOWN) {
		buf_printf(text, "%9llu  %s, first record %llu of %s\n", (unsigned long long)group->record_count,
			   group->word, (unsigned long long)group->seq, group->log);
		return;
	}
	buf_printf(text, "%9llu  %-7s %s\n", (unsigned long long)group->record_count, group->word, group->prefix);
	buf_printf(text, "           was: %s\n           now: %s\n", group->old_rule, group->new_rule);
	buf_printf(text, "           first: record %llu of %s: %s\n", (unsigned long long)group->seq, group->log,
		   group->object);
}

static int report_print_text(const struct replay_report *report, const struct replay_log *logs, size_t count,
			     const struct replay_group **groups, size_t group_count)
{
	_cleanup_buf_ struct buf text = {0};

	for (size_t i = 0; i < count; i++)
		buf_printf(&text, "%s: %llu records under the policy %s (%.12s)%s%s\n", logs[i].path,
			   (unsigned long long)logs[i].state.record_count,
			   logs[i].policy_name ? logs[i].policy_name : "without a name", logs[i].policy_sha256,
			   logs[i].run_had_same_policy ? ", the same policy" : "",
			   logs[i].lacks_read_records ? ", without what was read" : "");
	buf_printf(&text, "%llu records, %llu with the same verdict by the same rule\n",
		   (unsigned long long)report_count_records(report), (unsigned long long)report->unchanged_count);
	for (size_t i = 0; i < group_count; i++) {
		enum replay_change change = groups[i]->change;

		if (i == 0 || change != groups[i - 1]->change)
			buf_printf(&text, "\n%s: %llu\n", changes[change].title,
				   (unsigned long long)report->count_by_change[change]);
		report_print_group(&text, groups[i]);
	}
	return cli_print_buf("replay", &text);
}

static json_t *report_make_group_json(const struct replay_group *group)
{
	json_t *first = json_pack("{s:o, s:I, s:o}", "log", report_make_text_json(group->log), "seq",
				  (json_int_t)group->seq, "object", report_make_text_json(group->object));

	if (group->change == REPLAY_VERDICT_UNKNOWN)
		return json_pack("{s:o, s:I, s:o}", "class", report_make_text_json(group->word), "count",
				 (json_int_t)group->record_count, "first", first);
	return json_pack("{s:s, s:o, s:o, s:o, s:I, s:o}", "op", group->word, "prefix",
			 report_make_text_json(group->prefix), "was", report_make_text_json(group->old_rule), "now",
			 report_make_text_json(group->new_rule), "count", (json_int_t)group->record_count, "first",
			 first);
}

static json_t *report_make_log_json(const struct replay_log *log)
{
	return json_pack("{s:o, s:I, s:o, s:s, s:b, s:s, s:I}", "path", report_make_text_json(log->path), "records",
			 (json_int_t)log->state.record_count, "policy", report_make_text_json(log->policy_name),
			 "sha256", log->policy_sha256, "same_policy", log->run_had_same_policy, "judge",
			 policy_judge_get_name(log->lacks_read_records ? POLICY_JUDGE_CHANGES : POLICY_JUDGE_ALL),
			 "damages", (json_int_t)log->state.damage_count);
}

static int report_print_json(const struct replay_report *report, const struct replay_log *logs, size_t count,
			     const struct replay_group **groups, size_t group_count)
{
	json_t *list = json_array(), *root = json_pack("{s:s, s:I, s:I, s:o}", "schema", "callgate-replay/1", "records",
						       (json_int_t)report_count_records(report), "same",
						       (json_int_t)report->unchanged_count, "logs", list);

	for (size_t i = 0; i < count; i++)
		(void)json_array_append_new(list, report_make_log_json(&logs[i]));
	for (unsigned change = 0; change < REPLAY_CHANGE_MAX; change++) {
		json_t *items = json_array();

		for (size_t i = 0; i < group_count; i++)
			if (groups[i]->change == change)
				(void)json_array_append_new(items, report_make_group_json(groups[i]));
		(void)json_object_set_new(root, changes[change].key,
					  json_pack("{s:I, s:o}", "count", (json_int_t)report->count_by_change[change],
						    "groups", items));
	}
	return cli_print_json("replay", root);
}

int replay_report_print(const struct replay_report *report, const struct replay_log *logs, size_t count, bool json)
{
	size_t group_count = 0;
	_cleanup_free_ const struct replay_group **groups = report_list_groups(report, &group_count);

	if (!groups)
		return cli_fail_no_memory("replay");
	return json ? report_print_json(report, logs, count, groups, group_count)
		    : report_print_text(report, logs, count, groups, group_count);
}
