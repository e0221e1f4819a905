#include "supervisor/report.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "syscalls/changes.h"
#include "syscalls/denials.h"
#include "syscalls/table.h"

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

static json_t *errno_name(int error)
{
	const char *name = error > 0 ? strerrorname_np(error) : NULL;

	return name ? json_string(name) : json_null();
}

static json_t *denials_json(const struct denials *denials, uint64_t *ret_unlisted)
{
	json_t *list = json_array();
	const struct denial *denial;
	size_t count;

	denial = denials_list(denials, &count, ret_unlisted);
	for (size_t i = 0; i < count; i++, denial++)
		(void)json_array_append_new(
			list, json_pack("{s:I, s:s, s:s, s:o, s:o, s:o, s:o, s:s?, s:i, s:o, s:I, s:o}", "seq",
					(json_int_t)denial->seq, "syscall", denial->syscall, "op", denial->op, "target",
					report_text(denial->target), "resolved", report_text(denial->resolved), "errno",
					errno_name(denial->error), "rule", report_text(denial->rule), "reason",
					denial->reason, "pid", (int)denial->pid, "exe", report_text(denial->exe),
					"count", (json_int_t)denial->count, "suggest", report_text(denial->suggest)));
	return list;
}

static void add_change(void *ctx, const struct change *change)
{
	static const char *const kinds[] = {
		[CHANGE_ADDED] = "added", [CHANGE_MODIFIED] = "modified", [CHANGE_DELETED] = "deleted"};
	json_t *list = ctx;

	(void)json_array_append_new(list,
				    json_pack("{s:o, s:s, s:I, s:o}", "path", report_text(change->path), "kind",
					      kinds[change->kind], "size", (json_int_t)change->size_bytes, "sha256",
					      change->sha256[0] ? json_string(change->sha256) : json_null()));
}

static json_t *by_syscall(const uint64_t *by_row)
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

static json_int_t milliseconds(const struct timeval *time)
{
	return (json_int_t)time->tv_sec * 1000 + time->tv_usec / 1000;
}

static json_t *usage_json(const struct supervise_report *report)
{
	return json_pack("{s:I, s:I, s:I, s:I}", "cpu_user_ms", milliseconds(&report->usage.ru_utime), "cpu_sys_ms",
			 milliseconds(&report->usage.ru_stime), "max_rss_bytes",
			 (json_int_t)report->usage.ru_maxrss * 1024, "processes", (json_int_t)report->processes);
}

json_t *report_json(const struct supervise_report *report, const struct view *view)
{
	uint64_t unlisted = 0;
	json_t *changes = json_array(), *denials;
	int error = 0;

	if (report->changes)
		error = changes_report(report->changes, view, add_change, changes);
	denials = report->denials ? denials_json(report->denials, &unlisted) : json_array();
	return json_pack("{s:i, s:o, s:{s:I, s:I, s:I, s:o}, s:o, s:I, s:o, s:I, s:i}", "wait_status",
			 report->wait_status, "usage", usage_json(report), "calls", "judged",
			 (json_int_t)report->judged, "allowed", (json_int_t)report->allowed, "denied",
			 (json_int_t)report->denied, "by_syscall", by_syscall(report->by_row), "denials", denials,
			 "denials_unlisted", (json_int_t)unlisted, "changes", changes, "changes_unlisted",
			 report->changes ? (json_int_t)changes_unlisted(report->changes) : 0, "changes_error", -error);
}
