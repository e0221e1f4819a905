/* callgate audit stats: counts by system call, event and host, verdict and reason, and what the judging took. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "cli/audit/audit.h"
#include "cli/cli.h"

#include "base/banned.h"

#define TOP_MAX 15 /* of a list shown to people; --json has all */

struct stats {
	const struct audit_filter *filter;
	json_t *by_syscall, *by_event, *by_host, *by_verdict, *by_reason, *by_exe; /* owned; counters by name */
	json_t *header, *trailer;                             /* owned, or NULL */
	uint64_t records, denied, unfinished;
};

/* Adds to a counter. Memory running out shows as a count that is too low in a listing for people: it is not checked. */
static void count(json_t *counters, const char *name, int64_t by)
{
	json_t *counter = json_object_get(counters, name);

	if (counter)
		(void)json_integer_set(counter, json_integer_value(counter) + by);
	else
		(void)json_object_set_new(counters, name, json_integer(by));
}

/* The counters of a name, made when they are not there; NULL when memory ran out. */
static json_t *entry_of(json_t *counters, const char *name, json_t *(*make)(void))
{
	json_t *entry = json_object_get(counters, name);

	if (entry)
		return entry;
	entry = make();
	return json_object_set_new(counters, name, entry) < 0 ? NULL : entry;
}

static json_t *no_calls(void)
{
	return json_pack("{s:i, s:i, s:i, s:i}", "count", 0, "denied", 0, "ns_total", 0, "ns_max", 0);
}

/* key: "syscall" or "event". */
static void count_call(json_t *counters, const json_t *line, const char *key)
{
	_cleanup_free_ char *name = audit_printable(line, key);
	const json_t *ns = json_object_get(line, "ns");
	json_t *entry = name ? entry_of(counters, name, no_calls) : NULL, *most;

	if (!entry)
		return;
	count(entry, "count", 1);
	count(entry, "denied", audit_is_denied(line));
	count(entry, "ns_total", json_integer_value(ns));
	most = json_object_get(entry, "ns_max");
	if (json_integer_value(ns) > json_integer_value(most))
		(void)json_integer_set(most, json_integer_value(ns));
}

static json_t *no_traffic(void)
{
	return json_pack("{s:i, s:i, s:i, s:i, s:i}", "connections", 0, "requests", 0, "denied", 0, "bytes_up", 0,
			 "bytes_down", 0);
}

/* By events alone: what egress said of it. Denied are also the calls that it never heard of. */
static void count_host(struct stats *stats, const json_t *line)
{
	_cleanup_free_ char *name = json_object_get(line, "event") || json_object_get(line, "port")
					    ? audit_printable(line, "host") : NULL;
	json_t *entry = name ? entry_of(stats->by_host, name, no_traffic) : NULL;
	const char *event = json_string_value(json_object_get(line, "event"));

	if (!entry)
		return;
	count(entry, "denied", audit_is_denied(line));
	if (!event)
		return;
	count(entry, "connections", strcmp(event, "close") == 0);
	count(entry, "requests", strcmp(event, "request") == 0);
	count(entry, "bytes_up", json_integer_value(json_object_get(line, "bytes_up")));
	count(entry, "bytes_down", json_integer_value(json_object_get(line, "bytes_down")));
}

static void count_text(json_t *counters, const json_t *line, const char *key)
{
	_cleanup_free_ char *name = audit_printable(line, key);

	if (name)
		count(counters, name, 1);
}

static void count_line(void *ctx, const struct audit_line *line)
{
	struct stats *stats = ctx;
	const char *type = audit_line_type(line->json);

	if (strcmp(type, "record") != 0) {
		json_t **end = strcmp(type, "header") == 0 ? &stats->header : &stats->trailer;

		json_decref(*end);
		*end = json_incref(line->json);
		return;
	}
	if (!audit_filter_match(stats->filter, line->json))
		return;
	stats->records++;
	stats->denied += audit_is_denied(line->json);
	stats->unfinished += json_is_null(json_object_get(line->json, "ns"));
	count_call(stats->by_syscall, line->json, "syscall");
	count_call(stats->by_event, line->json, "event");
	count_host(stats, line->json);
	count_text(stats->by_verdict, line->json, "verdict");
	count_text(stats->by_exe, line->json, "exe");
	if (audit_is_denied(line->json))
		count_text(stats->by_reason, line->json, "reason");
}

struct row {
	const char *name;
	const json_t *value;
	int64_t count;
};

static int by_count(const void *a, const void *b)
{
	const struct row *one = a, *other = b;

	if (one->count != other->count)
		return one->count < other->count ? 1 : -1;
	return strcmp(one->name, other->name);
}

/* The counters, largest first; owned by the caller. NULL when there are none. */
static struct row *sorted(json_t *counters, size_t *ret_count)
{
	struct row *rows = calloc(json_object_size(counters) + 1, sizeof(*rows));
	size_t at = 0;
	const char *name;
	json_t *value;

	if (!rows)
		return NULL;
	json_object_foreach(counters, name, value) {
		const json_t *counter = json_is_object(value) ? json_object_get(value, "count") : value;

		rows[at++] = (struct row){.name = name, .value = value, .count = json_integer_value(counter)};
	}
	qsort(rows, at, sizeof(*rows), by_count);
	*ret_count = at;
	return rows;
}

static void print_counters(const char *title, json_t *counters)
{
	_cleanup_free_ struct row *rows = NULL;
	size_t found = 0;

	rows = sorted(counters, &found);
	if (!rows || found == 0)
		return;
	(void)text_printf(stdout, "\n%s\n", title);
	for (size_t i = 0; i < found && i < TOP_MAX; i++)
		(void)text_printf(stdout, "%9lld  %s\n", (long long)rows[i].count, rows[i].name);
	if (found > TOP_MAX)
		(void)text_printf(stdout, "           and %zu more\n", found - TOP_MAX);
}

static void print_calls(const char *title, json_t *counters)
{
	_cleanup_free_ struct row *rows = NULL;
	size_t found = 0;

	rows = sorted(counters, &found);
	if (!rows || found == 0)
		return;
	(void)text_printf(stdout, "\n    %s   denied    mean us     max us  %s\n",
			  strcmp(title, "event") == 0 ? "count" : "calls", title);
	for (size_t i = 0; i < found; i++) {
		double total = (double)json_integer_value(json_object_get(rows[i].value, "ns_total"));

		(void)text_printf(stdout, "%9lld %8lld %10.1f %10.1f  %.40s\n", (long long)rows[i].count,
				  (long long)json_integer_value(json_object_get(rows[i].value, "denied")),
				  total / 1000.0 / (double)(rows[i].count ? rows[i].count : 1),
				  (double)json_integer_value(json_object_get(rows[i].value, "ns_max")) / 1000.0,
				  rows[i].name);
	}
}

static int64_t value_of(const json_t *entry, const char *key)
{
	return json_integer_value(json_object_get(entry, key));
}

static void print_hosts(json_t *hosts)
{
	const char *name;
	json_t *entry;
	size_t shown = 0;

	json_object_foreach(hosts, name, entry) {
		if (shown++ == 0)
			(void)text_printf(stdout, "\n    conns requests   denied     bytes up   bytes down  host\n");
		if (shown <= TOP_MAX)
			(void)text_printf(stdout, "%9lld %8lld %8lld %12lld %12lld  %s\n",
					  (long long)value_of(entry, "connections"),
					  (long long)value_of(entry, "requests"), (long long)value_of(entry, "denied"),
					  (long long)value_of(entry, "bytes_up"),
					  (long long)value_of(entry, "bytes_down"), name);
	}
	if (shown > TOP_MAX)
		(void)text_printf(stdout, "           and %zu more\n", shown - TOP_MAX);
}

static void print_people(const struct stats *stats)
{
	_cleanup_free_ char *run = audit_printable(stats->header, "run");
	_cleanup_free_ char *status = audit_printable(stats->trailer, "status");

	(void)text_printf(stdout, "run %s: %s\n%llu records, %llu denied", run ? run : "?",
		     status ? status : "no trailer: it still goes on, or its end was not recorded",
		     (unsigned long long)stats->records, (unsigned long long)stats->denied);
	if (stats->unfinished > 0)
		(void)text_printf(stdout, ", %llu without outcome", (unsigned long long)stats->unfinished);
	(void)text_printf(stdout, "\n");
	print_calls("system call", stats->by_syscall);
	print_calls("event", stats->by_event);
	print_hosts(stats->by_host);
	print_counters("verdicts", stats->by_verdict);
	print_counters("reasons of denials", stats->by_reason);
	print_counters("programs", stats->by_exe);
}

static void print_json(const struct stats *stats)
{
	json_t *all = json_pack("{s:O?, s:O?, s:I, s:I, s:I, s:O, s:O, s:O, s:O, s:O, s:O}", "header", stats->header,
				"trailer", stats->trailer, "records", (json_int_t)stats->records, "denied",
				(json_int_t)stats->denied, "unfinished", (json_int_t)stats->unfinished, "by_syscall",
				stats->by_syscall, "by_event", stats->by_event, "by_host", stats->by_host, "by_verdict",
				stats->by_verdict, "by_reason", stats->by_reason, "by_exe", stats->by_exe);
	_cleanup_free_ char *text = all ? json_dumps(all, JSON_COMPACT) : NULL;

	if (text && text_print(stdout, text, false) == 0)
		(void)putchar('\n');
	json_decref(all);
}

int audit_stats(const char *path, const struct audit_filter *filter, bool json)
{
	struct stats stats = {.filter = filter};
	int status;

	stats.by_syscall = json_object();
	stats.by_event = json_object();
	stats.by_host = json_object();
	stats.by_verdict = json_object();
	stats.by_reason = json_object();
	stats.by_exe = json_object();
	status = audit_each_line(path, count_line, &stats);
	if (json)
		print_json(&stats);
	else
		print_people(&stats);
	if (fflush(stdout) != 0 || ferror(stdout)) {
		cli_error("audit", "cannot write to standard output: %s", strerror(errno));
		status = CLI_ERROR;
	}
	json_decref(stats.by_syscall);
	json_decref(stats.by_event);
	json_decref(stats.by_host);
	json_decref(stats.by_verdict);
	json_decref(stats.by_reason);
	json_decref(stats.by_exe);
	json_decref(stats.header);
	json_decref(stats.trailer);
	return status;
}
