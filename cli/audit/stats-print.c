/* Prints the counts of `callgate audit stats`. */
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "cli/audit/stats.h"

#define STATS_PRINTED_ROWS_MAX 15 /* rows of a long table that are printed; --json prints all rows */

static double stats_convert_to_us(uint64_t ns)
{
	return (double)ns / 1000.0;
}

static void stats_print_count(const struct tally_item *item)
{
	(void)text_printf(stdout, "%9llu  %s\n", (unsigned long long)item->counts[STATS_COUNT], item->name);
}

static void stats_print_times(const struct histogram *times)
{
	(void)text_printf(stdout, " %9.1f %9.1f %9.1f %9.1f %10.1f",
			  stats_convert_to_us(times->total) / (double)(times->count ? times->count : 1),
			  stats_convert_to_us(histogram_get_percentile(times, 500)),
			  stats_convert_to_us(histogram_get_percentile(times, 900)),
			  stats_convert_to_us(histogram_get_percentile(times, 990)), stats_convert_to_us(times->max));
}

static void stats_print_call(const struct tally_item *item)
{
	(void)text_printf(stdout, "%9llu %8llu", (unsigned long long)item->counts[STATS_COUNT],
			  (unsigned long long)item->counts[STATS_DENIED]);
	if (item->data)
		stats_print_times(item->data);
	(void)text_printf(stdout, "  %.40s\n", item->name);
}

static void stats_print_host(const struct tally_item *item)
{
	const uint64_t *count = item->counts;

	(void)text_printf(stdout, "%9llu %8llu %8llu %12llu %12llu  %s\n", (unsigned long long)count[HOST_CONNECTIONS],
			  (unsigned long long)count[HOST_REQUESTS], (unsigned long long)count[HOST_DENIED],
			  (unsigned long long)count[HOST_UP], (unsigned long long)count[HOST_DOWN], item->name);
}

#define STATS_CALL_TABLE_HEADING "    calls   denied   mean us    p50 us    p90 us    p99 us     max us  "

/* How each table of `callgate audit stats` is printed. */
static const struct stats_layout {
	const char *table_key; /* key of the table in the output of --json */
	const char *heading;
	size_t printed_rows_max; /* largest number of rows of the table to print */
	void (*print)(const struct tally_item *item);
} stats_tables[STATS_MAX] = {
	[STATS_SYSCALL] = {"by_syscall", STATS_CALL_TABLE_HEADING "system call", SIZE_MAX, stats_print_call},
	[STATS_EVENT] = {"by_event", STATS_CALL_TABLE_HEADING "event", SIZE_MAX, stats_print_call},
	[STATS_HOST] = {"by_host", "    conns requests   denied     bytes up   bytes down  host",
			STATS_PRINTED_ROWS_MAX, stats_print_host},
	[STATS_VERDICT] = {"by_verdict", "verdicts", STATS_PRINTED_ROWS_MAX, stats_print_count},
	[STATS_REASON] = {"by_reason", "reasons of denials", STATS_PRINTED_ROWS_MAX, stats_print_count},
	[STATS_EXE] = {"by_exe", "programs", STATS_PRINTED_ROWS_MAX, stats_print_count},
};

static void stats_print_table(const struct stats_layout *layout, const struct tally *tally)
{
	_cleanup_free_ struct tally_item **sorted = tally_sort_items_by_count(tally, STATS_COUNT);

	if (!sorted || tally->item_count == 0)
		return;
	(void)text_printf(stdout, "\n%s\n", layout->heading);
	for (size_t i = 0; i < tally->item_count && i < layout->printed_rows_max; i++)
		layout->print(sorted[i]);
	if (tally->item_count > layout->printed_rows_max)
		(void)text_printf(stdout, "           and %zu more\n", tally->item_count - layout->printed_rows_max);
}

static void stats_print_denials(const struct refusals *denials)
{
	_cleanup_free_ struct tally_item **sorted = tally_sort_items_by_count(&denials->groups, 0);
	size_t groups = denials->groups.item_count;

	if (!sorted || groups == 0)
		return;
	(void)text_printf(stdout, "\n   denied  what was refused, and what would allow it\n");
	for (size_t i = 0; i < groups && i < STATS_PRINTED_ROWS_MAX; i++) {
		const struct refusal_group *group = sorted[i]->data;

		if (!group) {
			stats_print_count(sorted[i]);
			continue;
		}
		(void)text_printf(stdout, "%9llu  %s %s: %s%s%s\n", (unsigned long long)sorted[i]->counts[0],
				  group->access_kind, group->target_text ? group->target_text : "",
				  group->reason ? group->reason : "denied", group->rule && group->rule[0] ? ", " : "",
				  group->rule ? group->rule : "");
		if (group->suggested_option || group->why_no_suggestion)
			(void)text_printf(stdout, "           %s%s\n", group->suggested_option ? "" : "no option: ",
					  group->suggested_option ? group->suggested_option : group->why_no_suggestion);
	}
	if (groups > STATS_PRINTED_ROWS_MAX)
		(void)text_printf(stdout, "           and %zu more\n", groups - STATS_PRINTED_ROWS_MAX);
}

static void stats_print_rules(const struct rule_usage *rules)
{
	_cleanup_free_ struct tally_item **sorted = tally_sort_items_by_count(&rules->rule_uses, 0);
	size_t unused = json_array_size(rules->unused_labels);

	if (sorted && rules->rule_uses.item_count > 0) {
		(void)text_printf(stdout, "\nrules that decided\n");
		for (size_t i = 0; i < rules->rule_uses.item_count && i < STATS_PRINTED_ROWS_MAX; i++)
			stats_print_count(sorted[i]);
		if (rules->rule_uses.item_count > STATS_PRINTED_ROWS_MAX)
			(void)text_printf(stdout, "           and %zu more\n",
					  rules->rule_uses.item_count - STATS_PRINTED_ROWS_MAX);
	}
	if (!rules->unused_labels)
		return;
	(void)text_printf(stdout, "\n%zu rules that were never used%s\n", unused,
			  rules->logs_have_same_policy ? "" : " (the logs are of another policy)");
	for (size_t i = 0; i < unused; i++)
		(void)text_printf(stdout, "           %s\n",
				  json_string_value(json_array_get(rules->unused_labels, i)));
}

void stats_print(const struct stats *stats)
{
	for (size_t i = 0; i < stats->log_count; i++) {
		_cleanup_free_ char *run = audit_get_field_for_display(stats->log[i].header, "run");
		_cleanup_free_ char *status = audit_get_field_for_display(stats->log[i].trailer, "status");

		(void)text_printf(stdout, "run %s: %s%s\n", run ? run : "?",
				  status ? status : "no trailer: it still goes on, or its end was not recorded",
				  audit_header_lacks_records_of_reads(stats->log[i].header)
					  ? " (\"judge\": \"changes\": what only reads is not on record)"
					  : "");
	}
	(void)text_printf(stdout, "%llu records, %llu denied", (unsigned long long)stats->records,
			  (unsigned long long)stats->denied);
	if (stats->unfinished > 0)
		(void)text_printf(stdout, ", %llu without outcome", (unsigned long long)stats->unfinished);
	if (stats->latency.count > 0) {
		(void)text_printf(stdout, "\nsystem calls: mean, p50, p90, p99 and max in us:");
		stats_print_times(&stats->latency);
	}
	(void)text_printf(stdout, "\n");
	for (enum stats_table i = 0; i < STATS_MAX; i++)
		stats_print_table(&stats_tables[i], &stats->tables[i]);
	stats_print_denials(&stats->denials);
	stats_print_rules(&stats->rules);
}

/* ---- JSON ---- */

/* Adds sum, maximum and percentiles of durations to the JSON. */
static void stats_add_times(json_t *object, const struct histogram *times)
{
	static const struct {
		const char *key;
		unsigned permille;
	} percentiles[] = {{"ns_p50", 500}, {"ns_p90", 900}, {"ns_p99", 990}};

	(void)json_object_set_new(object, "ns_total", json_integer((json_int_t)times->total));
	(void)json_object_set_new(object, "ns_max", json_integer((json_int_t)times->max));
	for (size_t i = 0; i < sizeof(percentiles) / sizeof(percentiles[0]); i++)
		(void)json_object_set_new(
			object, percentiles[i].key,
			json_integer((json_int_t)histogram_get_percentile(times, percentiles[i].permille)));
}

/* The counts of an item, in the form of its table. */
static json_t *stats_make_item_json(enum stats_table table, const struct tally_item *item)
{
	const uint64_t *count = item->counts;
	json_t *object;

	if (table == STATS_HOST)
		return json_pack("{s:I, s:I, s:I, s:I, s:I}", "connections", (json_int_t)count[HOST_CONNECTIONS],
				 "requests", (json_int_t)count[HOST_REQUESTS], "denied",
				 (json_int_t)count[HOST_DENIED], "bytes_up", (json_int_t)count[HOST_UP], "bytes_down",
				 (json_int_t)count[HOST_DOWN]);
	if (table != STATS_SYSCALL && table != STATS_EVENT)
		return json_integer((json_int_t)count[STATS_COUNT]);
	object = json_pack("{s:I, s:I}", "count", (json_int_t)count[STATS_COUNT], "denied",
			   (json_int_t)count[STATS_DENIED]);
	if (item->data)
		stats_add_times(object, item->data);
	return object;
}

static json_t *stats_make_table_json(enum stats_table table, const struct tally *tally)
{
	json_t *object = json_object();

	for (size_t i = 0; i < tally->item_count; i++)
		(void)json_object_set_new(object, tally->items[i]->name, stats_make_item_json(table, tally->items[i]));
	return object;
}

static json_t *stats_make_logs_json(const struct stats *stats)
{
	json_t *logs = json_array();

	for (size_t i = 0; i < stats->log_count; i++)
		(void)json_array_append_new(logs, json_pack("{s:O?, s:O?}", "header", stats->log[i].header, "trailer",
							    stats->log[i].trailer));
	return logs;
}

static json_t *stats_make_rules_json(const struct rule_usage *rules)
{
	json_t *used = json_object();

	for (size_t i = 0; i < rules->rule_uses.item_count; i++)
		(void)json_object_set_new(used, rules->rule_uses.items[i]->name,
					  json_integer((json_int_t)rules->rule_uses.items[i]->counts[0]));
	return json_pack("{s:o, s:O?, s:b}", "used", used, "unused", rules->unused_labels, "same_policy",
			 (int)rules->logs_have_same_policy);
}

void stats_print_json(const struct stats *stats)
{
	/* With several logs, header and trailer are those of the first log. */
	json_t *all = json_pack("{s:O?, s:O?, s:I, s:I, s:I}", "header", stats->log[0].header, "trailer",
				stats->log[0].trailer, "records", (json_int_t)stats->records, "denied",
				(json_int_t)stats->denied, "unfinished", (json_int_t)stats->unfinished);
	json_t *latency = json_object();
	_cleanup_free_ char *text = NULL;

	for (enum stats_table i = 0; i < STATS_MAX; i++)
		(void)json_object_set_new(all, stats_tables[i].table_key, stats_make_table_json(i, &stats->tables[i]));
	stats_add_times(latency, &stats->latency);
	(void)json_object_set_new(all, "latency", latency);
	(void)json_object_set_new(all, "denials", refusals_make_json(&stats->denials));
	(void)json_object_set_new(all, "rules", stats_make_rules_json(&stats->rules));
	(void)json_object_set_new(all, "logs", stats_make_logs_json(stats));
	text = json_dumps(all, JSON_COMPACT);
	if (text && text_print(stdout, text, false) == 0)
		(void)putchar('\n');
	json_decref(all);
}
