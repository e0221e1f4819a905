/* callgate audit stats: counts by system call, event, host, verdict, reason and program, and the time spent judging. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "cli/audit/audit.h"

#define STATS_ROWS_MAX 15 /* rows that are printed of a long table; --json prints all */

enum stats_table { STATS_SYSCALL, STATS_EVENT, STATS_HOST, STATS_VERDICT, STATS_REASON, STATS_EXE, STATS_MAX };

struct stats {
	const struct audit_filter *filter;
	json_t *table[STATS_MAX]; /* owned; each maps a name to its counters */
	json_t *header, *trailer; /* owned, or NULL */
	uint64_t records, denied, unfinished;
};

/* Adds to a counter. Not checked: when memory runs out, the count is too low. */
static void stats_add_to_counter(json_t *counters, const char *name, int64_t by)
{
	json_t *counter = json_object_get(counters, name);

	if (counter)
		(void)json_integer_set(counter, json_integer_value(counter) + by);
	else
		(void)json_object_set_new(counters, name, json_integer(by));
}

/* The counters of a name, created at first use; NULL: no name or no memory. */
static json_t *stats_find_counters(json_t *counters, const char *name)
{
	json_t *entry = name ? json_object_get(counters, name) : NULL;

	if (entry || !name)
		return entry;
	entry = json_object();
	return json_object_set_new(counters, name, entry) < 0 ? NULL : entry;
}

/* Counts a record by the name in its field `key`: "syscall" or "event". */
static void stats_count_call(json_t *counters, const json_t *line, const char *key)
{
	_cleanup_free_ char *name = audit_get_field_for_display(line, key);
	json_t *entry = stats_find_counters(counters, name);
	long long ns = audit_get_field_number(line, "ns"), more;

	if (!entry)
		return;
	more = ns - audit_get_field_number(entry, "ns_max");
	stats_add_to_counter(entry, "count", 1);
	stats_add_to_counter(entry, "denied", audit_record_is_denied(line));
	stats_add_to_counter(entry, "ns_total", ns);
	stats_add_to_counter(entry, "ns_max", more > 0 ? more : 0);
}

/* Counts the traffic that egress recorded, and denials, also of system calls, because these never reach egress. */
static void stats_count_host(json_t *hosts, const json_t *line)
{
	const char *event = json_string_value(json_object_get(line, "event"));
	bool has_host = event || json_object_get(line, "port");
	_cleanup_free_ char *name = has_host ? audit_get_field_for_display(line, "host") : NULL;
	json_t *entry = stats_find_counters(hosts, name);

	if (!entry)
		return;
	stats_add_to_counter(entry, "connections", event && strcmp(event, "close") == 0);
	stats_add_to_counter(entry, "requests", event && strcmp(event, "request") == 0);
	stats_add_to_counter(entry, "denied", audit_record_is_denied(line));
	stats_add_to_counter(entry, "bytes_up", event ? audit_get_field_number(line, "bytes_up") : 0);
	stats_add_to_counter(entry, "bytes_down", event ? audit_get_field_number(line, "bytes_down") : 0);
}

static void stats_count_text(json_t *counters, const json_t *line, const char *key)
{
	_cleanup_free_ char *name = audit_get_field_for_display(line, key);

	if (name)
		stats_add_to_counter(counters, name, 1);
}

static void stats_count_line(void *ctx, const struct audit_line *line)
{
	struct stats *stats = ctx;
	const char *type = audit_line_get_type(line->json);

	if (strcmp(type, "record") != 0) {
		json_t **end = strcmp(type, "header") == 0 ? &stats->header : &stats->trailer;

		json_decref(*end);
		*end = json_incref(line->json);
		return;
	}
	if (!audit_filter_matches(stats->filter, line->json))
		return;
	stats->records++;
	stats->denied += audit_record_is_denied(line->json);
	stats->unfinished += json_is_null(json_object_get(line->json, "ns"));
	stats_count_call(stats->table[STATS_SYSCALL], line->json, "syscall");
	stats_count_call(stats->table[STATS_EVENT], line->json, "event");
	stats_count_host(stats->table[STATS_HOST], line->json);
	stats_count_text(stats->table[STATS_VERDICT], line->json, "verdict");
	stats_count_text(stats->table[STATS_EXE], line->json, "exe");
	if (audit_record_is_denied(line->json))
		stats_count_text(stats->table[STATS_REASON], line->json, "reason");
}

struct stats_row {
	const char *name;
	const json_t *value;
	int64_t count;
};

static int stats_compare_rows(const void *a, const void *b)
{
	const struct stats_row *one = a, *other = b;

	if (one->count != other->count)
		return one->count < other->count ? 1 : -1;
	return strcmp(one->name, other->name);
}

/* The counters, sorted by count, largest first. Owned by the caller; NULL: no memory. */
static struct stats_row *stats_sort_counters(json_t *counters, size_t *ret_count)
{
	struct stats_row *rows = calloc(json_object_size(counters) + 1, sizeof(*rows));
	size_t at = 0;
	const char *name;
	json_t *value;

	if (!rows)
		return NULL;
	json_object_foreach(counters, name, value) {
		const json_t *counter = json_object_get(value, "count"), *hosts = json_object_get(value, "connections");

		counter = counter ? counter : hosts ? hosts : value;
		rows[at++] = (struct stats_row){.name = name, .value = value, .count = json_integer_value(counter)};
	}
	qsort(rows, at, sizeof(*rows), stats_compare_rows);
	*ret_count = at;
	return rows;
}

static void stats_print_count(const struct stats_row *row)
{
	(void)text_printf(stdout, "%9lld  %s\n", (long long)row->count, row->name);
}

static void stats_print_call(const struct stats_row *row)
{
	(void)text_printf(stdout, "%9lld %8lld %10.1f %10.1f  %.40s\n", (long long)row->count,
			  audit_get_field_number(row->value, "denied"),
			  (double)audit_get_field_number(row->value,
						     "ns_total") / 1000.0 / (double)(row->count ? row->count : 1),
			  (double)audit_get_field_number(row->value, "ns_max") / 1000.0, row->name);
}

static void stats_print_host(const struct stats_row *row)
{
	(void)text_printf(stdout, "%9lld %8lld %8lld %12lld %12lld  %s\n", (long long)row->count,
			  audit_get_field_number(row->value, "requests"), audit_get_field_number(row->value, "denied"),
			  audit_get_field_number(row->value, "bytes_up"),
			  audit_get_field_number(row->value, "bytes_down"), row->name);
}

static const struct stats_layout {
	const char *name; /* key of the table in the output of --json */
	const char *heading;
	size_t most; /* largest number of rows of the table to print */
	void (*print)(const struct stats_row *row);
} stats_tables[STATS_MAX] = {
	[STATS_SYSCALL] = {"by_syscall", "    calls   denied    mean us     max us  system call", SIZE_MAX,
			   stats_print_call},
	[STATS_EVENT] = {"by_event", "    count   denied    mean us     max us  event", SIZE_MAX, stats_print_call},
	[STATS_HOST] = {"by_host", "    conns requests   denied     bytes up   bytes down  host", STATS_ROWS_MAX,
			stats_print_host},
	[STATS_VERDICT] = {"by_verdict", "verdicts", STATS_ROWS_MAX, stats_print_count},
	[STATS_REASON] = {"by_reason", "reasons of denials", STATS_ROWS_MAX, stats_print_count},
	[STATS_EXE] = {"by_exe", "programs", STATS_ROWS_MAX, stats_print_count},
};

static void stats_print_table(const struct stats_layout *table, json_t *counters)
{
	size_t found = 0;
	_cleanup_free_ struct stats_row *rows = stats_sort_counters(counters, &found);

	if (!rows || found == 0)
		return;
	(void)text_printf(stdout, "\n%s\n", table->heading);
	for (size_t i = 0; i < found && i < table->most; i++)
		table->print(&rows[i]);
	if (found > table->most)
		(void)text_printf(stdout, "           and %zu more\n", found - table->most);
}

static void stats_print(const struct stats *stats)
{
	_cleanup_free_ char *run = audit_get_field_for_display(stats->header, "run");
	_cleanup_free_ char *status = audit_get_field_for_display(stats->trailer, "status");

	(void)text_printf(stdout, "run %s: %s\n%llu records, %llu denied", run ? run : "?",
		     status ? status : "no trailer: it still goes on, or its end was not recorded",
		     (unsigned long long)stats->records, (unsigned long long)stats->denied);
	if (stats->unfinished > 0)
		(void)text_printf(stdout, ", %llu without outcome", (unsigned long long)stats->unfinished);
	(void)text_printf(stdout, "\n");
	for (enum stats_table i = 0; i < STATS_MAX; i++)
		stats_print_table(&stats_tables[i], stats->table[i]);
}

static void stats_print_json(const struct stats *stats)
{
	json_t *all = json_pack("{s:O?, s:O?, s:I, s:I, s:I}", "header", stats->header, "trailer", stats->trailer,
				"records", (json_int_t)stats->records, "denied", (json_int_t)stats->denied,
				"unfinished", (json_int_t)stats->unfinished);
	_cleanup_free_ char *text = NULL;

	for (enum stats_table i = 0; i < STATS_MAX; i++)
		(void)json_object_set(all, stats_tables[i].name, stats->table[i]);
	text = json_dumps(all, JSON_COMPACT);
	if (text && text_print(stdout, text, false) == 0)
		(void)putchar('\n');
	json_decref(all);
}

int audit_print_stats(const char *path, const struct audit_filter *filter, bool json)
{
	struct stats stats = {.filter = filter};
	int status;

	for (enum stats_table i = 0; i < STATS_MAX; i++)
		stats.table[i] = json_object();
	status = audit_read_lines(path, stats_count_line, &stats);
	if (json)
		stats_print_json(&stats);
	else
		stats_print(&stats);
	status = audit_flush_stdout(status);
	for (enum stats_table i = 0; i < STATS_MAX; i++)
		json_decref(stats.table[i]);
	json_decref(stats.header);
	json_decref(stats.trailer);
	return status;
}
