/* callgate audit stats: counts by system call, event, host, verdict, reason and program, and how long calls took. */
#include "cli/audit/stats.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"

#define STATS_HISTOGRAMS_MAX 1000u /* most histograms of a table; there are fewer system calls */

/* Finds or adds the item of a name in a table. NULL: the record has no such name, or no memory. */
static struct tally_item *stats_find_item(struct stats *stats, enum stats_table table, const struct scan_text *name)
{
	_cleanup_buf_ struct buf text = {0};
	struct tally_item *item;

	if (!name->at)
		return NULL;
	audit_put_text(&text, name);
	item = text.failed ? NULL : tally_find_or_add_item(&stats->tables[table], text.data ? text.data : "", text.len);
	stats->is_out_of_memory = stats->is_out_of_memory || !item;
	return item;
}

/* Counts a record under the name of its system call or event. */
static void stats_count_call(struct stats *stats, enum stats_table table, const struct scan_text *name,
			     const struct scan_record *record)
{
	struct tally_item *item = stats_find_item(stats, table, name);

	if (!item)
		return;
	item->counts[STATS_COUNT]++;
	item->counts[STATS_DENIED] += record_is_denied(record);
	if (!item->data && stats->tables[table].item_count <= STATS_HISTOGRAMS_MAX)
		item->data = calloc(1, sizeof(struct histogram));
	if (item->data && record->has_ns)
		histogram_add(item->data, record->ns);
}

/*
 * Counts traffic by host, as egress recorded it, and denials. Denied system calls count as well, because they never
 * reach egress.
 */
static void stats_count_host(struct stats *stats, const struct scan_record *record)
{
	struct tally_item *item =
		record_names_network(record) ? stats_find_item(stats, STATS_HOST, &record->host) : NULL;

	if (!item)
		return;
	item->counts[HOST_CONNECTIONS] += scan_text_equals(&record->event, "close");
	item->counts[HOST_REQUESTS] += scan_text_equals(&record->event, "request");
	item->counts[HOST_DENIED] += record_is_denied(record);
	item->counts[HOST_UP] += record->bytes_up;
	item->counts[HOST_DOWN] += record->bytes_down;
}

static void stats_count_text(struct stats *stats, enum stats_table table, const struct scan_text *text)
{
	struct tally_item *item = stats_find_item(stats, table, text);

	if (item)
		item->counts[STATS_COUNT]++;
}

/* Keeps a header or trailer of a log. */
static void stats_on_trailer(struct stats *stats, const struct audit_entry *entry)
{
	struct stats_log *log = &stats->log[entry->log->index];
	json_t **end = strcmp(audit_line_get_type(entry->json), "header") == 0 ? &log->header : &log->trailer;
	json_t *copy = json_deep_copy(entry->json);

	json_decref(*end);
	*end = copy;
}

static void stats_count_record(struct stats *stats, const struct scan_record *record)
{
	bool denied = record_is_denied(record);

	stats->records++;
	stats->denied += denied;
	stats->unfinished += !record->has_ns;
	if (record->has_ns && record->syscall.at)
		histogram_add(&stats->latency, record->ns);
	stats_count_call(stats, STATS_SYSCALL, &record->syscall, record);
	stats_count_call(stats, STATS_EVENT, &record->event, record);
	stats_count_host(stats, record);
	stats_count_text(stats, STATS_VERDICT, &record->verdict);
	stats_count_text(stats, STATS_EXE, &record->exe);
	if (denied)
		stats_count_text(stats, STATS_REASON, &record->reason);
	if ((denied || record->was_observed) && refusals_add(&stats->denials, record) < 0)
		stats->is_out_of_memory = true;
	if (rule_usage_count_record(&stats->rules, record) < 0)
		stats->is_out_of_memory = true;
}

static bool stats_on_entry(void *ctx, const struct audit_entry *entry)
{
	struct stats *stats = ctx;

	if (entry->json)
		stats_on_trailer(stats, entry);
	else if (audit_filter_matches(&stats->filter, entry))
		stats_count_record(stats, &entry->record);
	return !stats->is_out_of_memory;
}

#define FIELD_OFFSET(member) offsetof(struct stats, member)

static int stats_parse_options(int argc, char **argv, struct stats *stats)
{
	static const struct cli_option table[] = {
		CLI_FLAG("json", 0, "print one JSON object", FIELD_OFFSET(json)),
		AUDIT_FILTER_OPTIONS(FIELD_OFFSET(filter)),
		{0},
	};
	const struct cli_syntax syntax = {
		.verb = "audit",
		.usage = "Usage: callgate audit stats [OPTION...] LOG...\n\n"
			 "Counts the records of runs. Options that select records are combined.\n\n",
		.allows_mixed_order = true,
		.table = {{NULL, table, stats},
			  {"\nThe policy whose rules are looked for in the logs, to list those that were never used:\n",
			   cli_get_policy_table(), &stats->policy_options}},
	};

	return cli_parse_options(argc, argv, &syntax);
}

static int stats_read_logs(struct stats *stats, const char *const *paths)
{
	const struct audit_reading reading = {.paths = paths, .each = stats_on_entry, .ctx = stats};
	int status, found = CLI_EXIT_OK;

	while (paths[stats->log_count])
		stats->log_count++;
	stats->log = calloc(stats->log_count, sizeof(*stats->log));
	if (!stats->log)
		return cli_fail_no_memory("audit");
	for (size_t i = 0; i < stats->log_count; i++)
		stats->log[i].path = paths[i];
	status = audit_read_logs(&reading);
	if (stats->is_out_of_memory)
		return cli_fail_no_memory("audit");
	for (size_t i = 0; stats->policy_options.policy_names.count > 0 && i < stats->log_count; i++)
		if (audit_header_lacks_records_of_reads(stats->log[i].header)) {
			cli_print_error("audit",
					"%s: the run had \"judge\": \"changes\", so the log does not tell which rules "
					"were never used; leave out the policy",
					paths[i]);
			return CLI_EXIT_ERROR;
		}
	if (stats->log[0].header)
		found = rule_usage_find_unused_rules(&stats->rules, &stats->policy_options, stats->log[0].header);
	if (found != CLI_EXIT_OK)
		return found;
	if (stats->json)
		stats_print_json(stats);
	else
		stats_print(stats);
	return audit_flush_stdout(status);
}

static void stats_release(struct stats *stats)
{
	for (enum stats_table i = 0; i < STATS_MAX; i++)
		tally_release(&stats->tables[i]);
	for (size_t i = 0; stats->log && i < stats->log_count; i++) {
		json_decref(stats->log[i].header);
		json_decref(stats->log[i].trailer);
	}
	free(stats->log);
	refusals_release(&stats->denials);
	rule_usage_release(&stats->rules);
	cli_policy_options_release(&stats->policy_options);
	audit_filter_release(&stats->filter);
}

int audit_main_stats(int argc, char **argv)
{
	struct stats *stats = calloc(1, sizeof(*stats)); /* a histogram is large for a stack */
	const char *const *paths;
	int status;

	if (!stats)
		return cli_fail_no_memory("audit");
	status = stats_parse_options(argc, argv, stats);
	if (status == CLI_OPTIONS_PARSED) {
		paths = audit_get_log_paths(argv, "stats");
		status = paths ? stats_read_logs(stats, paths) : CLI_EXIT_ERROR;
	}
	stats_release(stats);
	free(stats);
	return status;
}
