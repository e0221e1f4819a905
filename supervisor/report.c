#include "supervisor/report.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "syscalls/account/changes.h"
#include "syscalls/account/denials.h"
#include "syscalls/table/table.h"

#include "base/banned.h"

json_t *report_text(const char *bytes)
{
	_cleanup_free_ char *json = NULL;
	size_t len;

	if (!bytes)
		return json_null();
	len = strlen(bytes);
	if (len > (SIZE_MAX - 2) / TEXT_ESCAPE_MAX)
		return NULL;
	json = malloc(len * TEXT_ESCAPE_MAX + 2);
	if (!json)
		return NULL;
	json[0] = '"';
	len = 1 + text_escape(json + 1, bytes, len);
	json[len++] = '"';
	return json_loadb(json, len, JSON_DECODE_ANY, NULL);
}

static json_t *report_errno(int error)
{
	const char *name = error > 0 ? strerrorname_np(error) : NULL;

	return name ? json_string(name) : json_null();
}

static json_t *report_denials(const struct denials *denials, uint64_t *ret_unlisted)
{
	json_t *list = json_array();
	const struct denial *denial;
	size_t count;

	denial = denials_list(denials, &count, ret_unlisted);
	for (size_t i = 0; i < count; i++, denial++) {
		json_t *item =
			json_pack("{s:I, s:s?, s:s, s:o, s:o, s:o, s:o, s:o, s:i, s:o, s:I, s:o}", "seq",
				  (json_int_t)denial->seq, "syscall", denial->syscall, "op", denial->op, "target",
				  report_text(denial->target), "resolved", report_text(denial->resolved), "errno",
				  report_errno(denial->error), "rule", report_text(denial->rule), "reason",
				  report_text(denial->reason), "pid", (int)denial->pid, "exe", report_text(denial->exe),
				  "count", (json_int_t)denial->count, "suggest", report_text(denial->suggest));

		if (denial->suggest_why)
			(void)json_object_set_new(item, "suggest_reason", json_string(denial->suggest_why));
		if (denial->event)
			(void)json_object_set_new(item, "event", json_string(denial->event));
		if (denial->host_pid > 0)
			(void)json_object_set_new(item, "host_pid", json_integer(denial->host_pid));
		(void)json_array_append_new(list, item);
	}
	return list;
}

static json_t *report_redirects(const struct redirects *redirects)
{
	json_t *list = json_array();

	for (size_t i = 0; i < redirects->count; i++)
		(void)json_array_append_new(list, json_pack("{s:s, s:o, s:o, s:I}", "op", redirects->item[i].op, "from",
							    report_text(redirects->item[i].mount->virt), "to",
							    report_text(redirects->item[i].mount->origin), "count",
							    (json_int_t)redirects->item[i].count));
	return list;
}

static void report_add_change(void *ctx, const struct change *change)
{
	static const char *const kinds[] = {
		[CHANGE_ADDED] = "added", [CHANGE_MODIFIED] = "modified", [CHANGE_DELETED] = "deleted"};
	json_t *list = ctx;

	(void)json_array_append_new(list,
				    json_pack("{s:o, s:s, s:I, s:o}", "path", report_text(change->path), "kind",
					      kinds[change->kind], "size", (json_int_t)change->size_bytes, "sha256",
					      change->sha256[0] ? json_string(change->sha256) : json_null()));
}

static json_t *report_by_syscall(const uint64_t *by_row)
{
	json_t *object = json_object();
	const struct syscall_row *row;
	size_t count;

	row = table_rows(&count);
	for (size_t i = 0; by_row && i < count; i++)
		if (by_row[i] > 0)
			(void)json_object_set_new(object, row[i].name, json_integer((json_int_t)by_row[i]));
	return object;
}

static json_int_t report_ms(const struct timeval *time)
{
	return (json_int_t)time->tv_sec * 1000 + time->tv_usec / 1000;
}

static json_t *report_usage(const struct supervise_report *report)
{
	return json_pack("{s:I, s:I, s:I, s:I}", "cpu_user_ms", report_ms(&report->usage.ru_utime), "cpu_sys_ms",
			 report_ms(&report->usage.ru_stime), "max_rss_bytes",
			 (json_int_t)report->usage.ru_maxrss * 1024, "processes", (json_int_t)report->processes);
}

static json_t *report_calls(const struct supervise_report *report)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "judged", (json_int_t)report->judged, "allowed",
			 (json_int_t)report->allowed, "denied", (json_int_t)report->denied, "expected",
			 (json_int_t)report->expected, "restarted", (json_int_t)report->restarted, "interrupted",
			 (json_int_t)report->interrupted, "by_syscall", report_by_syscall(report->by_row));
}

static void report_set_changes(json_t *object, struct changes *changes, const struct view *view)
{
	json_t *list = json_array();

	(void)json_object_set_new(object, "changes", list);
	if (!changes)
		return;
	if (changes_report(changes, view, report_add_change, list) < 0)
		(void)json_array_clear(list); /* out of memory: all are unlisted */
	(void)json_object_set_new(object, "changes_unlisted", json_integer((json_int_t)changes_unlisted(changes)));
}

static void report_set_network(json_t *object, const struct network_report *network)
{
	(void)json_object_set_new(object, "network", network->list ? json_incref(network->list) : json_array());
	(void)json_object_set_new(object, "network_unlisted", json_integer((json_int_t)network->unlisted));
	(void)json_object_set_new(object, "network_budgets",
				  network->budgets ? json_incref(network->budgets) : json_array());
	(void)json_object_set_new(object, "network_denied", json_integer((json_int_t)network->denied));
	(void)json_object_set_new(object, "network_advice",
				  network->advice ? json_incref(network->advice) : json_array());
}

json_t *report_json(const struct supervise_report *report, const struct view *view)
{
	json_t *object = json_object();
	uint64_t unlisted = 0;

	(void)json_object_set_new(object, "wait_status", json_integer(report->wait_status));
	(void)json_object_set_new(object, "asked", json_integer(report->asked));
	(void)json_object_set_new(object, "usage", report_usage(report));
	(void)json_object_set_new(object, "limits", limits_json(report->limit));
	if (report->ended_by != LIMIT_MAX)
		(void)json_object_set_new(object, "ended_by", json_string(limit_name(report->ended_by)));
	(void)json_object_set_new(object, "calls", report_calls(report));
	(void)json_object_set_new(object, "denials",
				  report->denials ? report_denials(report->denials, &unlisted) : json_array());
	(void)json_object_set_new(object, "denials_unlisted", json_integer((json_int_t)unlisted));
	(void)json_object_set_new(object, "redirects", report_redirects(&report->redirects));
	report_set_network(object, &report->network);
	report_set_changes(object, report->changes, view);
	return object;
}
