/* callgate audit top: shows what a run is doing now. */
#include "cli/audit/top.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/io.h"

#define TOP_REFRESH_INTERVAL_NS 1000000000u
#define TOP_RECORDS_PER_CLOCK_READ 4096u /* number of records after which the clock is read again */

/* Counts a path, host, process or denial in its table, in total and with the weight of recent ones. */
static void top_count_name(struct top_state *top, enum top_table table, const struct buf *name, bool denied)
{
	struct tally_item *item =
		name->failed ? NULL
			     : tally_find_or_add_item(&top->tables[table], name->data ? name->data : "", name->len);

	if (!item) {
		top->is_out_of_memory = true;
		return;
	}
	item->counts[TOP_TOTAL]++;
	item->counts[TOP_RECENT] += 16; /* top_draw() reduces the value by a quarter each time */
	item->counts[TOP_DENIED] += denied;
}

/* Counts a call of the process, with the program that it runs. */
static void top_count_process(struct top_state *top, const struct audit_entry *entry, bool denied)
{
	_cleanup_buf_ struct buf name = {0};

	if (!entry->record.pid)
		return;
	buf_printf(&name, "%7lld ", (long long)entry->record.pid);
	audit_put_text(&name, &entry->record.exe);
	top_count_name(top, TOP_PROCESS, &name, denied);
}

/* Counts the host or path of a record. */
static void top_count_objects(struct top_state *top, const struct scan_record *record, bool denied)
{
	_cleanup_buf_ struct buf name = {0};

	if (record_names_network(record)) {
		audit_put_endpoint(&name, record);
		top_count_name(top, TOP_HOST, &name, denied);
	} else if (audit_put_object(&name, record)) {
		top_count_name(top, TOP_PATH, &name, denied);
	}
}

/* Counts a denial by call, object and reason. */
static void top_count_denial(struct top_state *top, const struct scan_record *record)
{
	_cleanup_buf_ struct buf name = {0};

	audit_put_text(&name, record_get_call(record));
	buf_puts(&name, " ");
	if (!audit_put_object(&name, record))
		audit_put_text(&name, &record->args_json);
	buf_puts(&name, ": ");
	audit_put_text(&name, &record->reason);
	top_count_name(top, TOP_DENIAL, &name, true);
}

/* Counts a record in the second of its time, for the rate and its peak. */
static void top_count_record_at(struct top_state *top, uint64_t ns)
{
	uint64_t second = ns / 1000000000, last = top->last_ns / 1000000000;
	uint64_t *count = &top->records_by_second[second % TOP_RATE_HISTORY_SECONDS];

	if (top->first_ns == 0)
		top->first_ns = ns;
	if (second > last) {
		if (second - last >= TOP_RATE_HISTORY_SECONDS)
			memset(top->records_by_second, 0, sizeof(top->records_by_second));
		for (uint64_t i = last + 1; i <= second && second - last < TOP_RATE_HISTORY_SECONDS; i++)
			top->records_by_second[i % TOP_RATE_HISTORY_SECONDS] = 0;
	}
	if (ns > top->last_ns)
		top->last_ns = ns;
	if (second + TOP_RATE_HISTORY_SECONDS > top->last_ns / 1000000000 && ++*count > top->peak_records_per_second)
		top->peak_records_per_second = *count;
}

/* Draws the screen when that is due. False: a signal asks the program to end. */
static bool top_refresh(void *ctx)
{
	struct top_state *top = ctx;
	uint64_t now = io_read_clock_ns();

	if (top->prints_once)
		return true;
	if (top_must_end_because_of_signal())
		return false;
	if (now - top->last_drawn_ns < TOP_REFRESH_INTERVAL_NS)
		return true;
	top->last_drawn_ns = now;
	top_draw(top, true);
	return !ferror(stdout);
}

static bool top_on_entry(void *ctx, const struct audit_entry *entry)
{
	struct top_state *top = ctx;
	bool denied;

	if (!audit_filter_matches(&top->filter, entry))
		return true;
	denied = record_is_denied(&entry->record);
	top->records++;
	top->denied += denied;
	if (entry->time_ns)
		top_count_record_at(top, entry->time_ns);
	top_count_process(top, entry, denied);
	top_count_objects(top, &entry->record, denied);
	if (denied)
		top_count_denial(top, &entry->record);
	return !top->is_out_of_memory && (top->records % TOP_RECORDS_PER_CLOCK_READ != 0 || top_refresh(top));
}

#define FIELD_OFFSET(member) offsetof(struct top_state, member)

static int top_parse_options(int argc, char **argv, struct top_state *top)
{
	static const struct cli_option table[] = {
		CLI_FLAG("once", 0, "print what is in the logs and end, as without a terminal",
			 FIELD_OFFSET(prints_once)),
		AUDIT_FILTER_OPTIONS(FIELD_OFFSET(filter)),
		{0},
	};
	const struct cli_syntax syntax = {
		.verb = "audit",
		.usage = "Usage: callgate audit top [OPTION...] LOG...\n\n"
			 "Shows each second what a run does: calls a second, busiest paths, processes and endpoints,\n"
			 "denials. Ends with the run, or at ^C.\n\n",
		.allows_mixed_order = true,
		.table = {{NULL, table, top}},
	};

	return cli_parse_options(argc, argv, &syntax);
}

static int top_show_logs(struct top_state *top, const char *const *paths)
{
	const struct audit_reading reading = {.paths = paths,
					      .follows_growing_logs = !top->prints_once,
					      .each = top_on_entry,
					      .idle = top_refresh,
					      .ctx = top};
	int status;

	if (!top->prints_once)
		top_begin_screen();
	status = audit_read_logs(&reading);
	if (!top->prints_once)
		top_end_screen();
	if (top->is_out_of_memory)
		return cli_fail_no_memory("audit");
	top_draw(top, false);
	return audit_flush_stdout(status);
}

int audit_main_top(int argc, char **argv)
{
	struct top_state top = {0};
	int status = top_parse_options(argc, argv, &top);
	const char *const *paths = status == CLI_OPTIONS_PARSED ? audit_get_log_paths(argv, "top") : NULL;

	top.prints_once = top.prints_once || !isatty(STDOUT_FILENO);
	if (status == CLI_OPTIONS_PARSED)
		status = paths ? top_show_logs(&top, paths) : CLI_EXIT_ERROR;
	for (enum top_table i = 0; i < TOP_MAX; i++)
		tally_release(&top.tables[i]);
	audit_filter_release(&top.filter);
	return status;
}
