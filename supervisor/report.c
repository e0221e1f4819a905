#include "supervisor/report.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "syscalls/account/result/after.h"
#include "syscalls/account/result/changes.h"
#include "syscalls/account/result/decoys.h"
#include "syscalls/account/result/denials.h"
#include "syscalls/table/table.h"

json_t *report_make_text_json(const char *bytes)
{
	_cleanup_free_ char *text = NULL;
	size_t len;

	if (!bytes)
		return json_null();
	len = strlen(bytes);
	if (len > (SIZE_MAX - 1) / TEXT_BACKSLASHED_BYTES_PER_BYTE_MAX)
		return NULL;
	text = malloc(len * TEXT_BACKSLASHED_BYTES_PER_BYTE_MAX + 1);
	if (!text)
		return NULL;
	/* Not by json_loadb(): that of jansson 2.14 reads and writes past its buffers when memory is short. */
	return json_stringn(text, text_escape_backslashes(text, bytes, len));
}

json_t *report_make_denials(const struct denials *denials, uint64_t *ret_unlisted)
{
	json_t *list = json_array();
	const struct denial *denial;
	size_t count;

	denial = denials_get_list(denials, &count, ret_unlisted);
	for (size_t i = 0; i < count; i++, denial++) {
		json_t *item = json_pack(
			"{s:I, s:s?, s:s, s:o, s:o, s:s?, s:o, s:o, s:i, s:o, s:I, s:o, s:s*, s:o*, s:s*, s:o*, s:s*, "
			"s:s*}",
			"seq", (json_int_t)denial->seq, "syscall", denial->syscall_name, "op", denial->op, "target",
			report_make_text_json(denial->target), "resolved", report_make_text_json(denial->resolved_path),
			"errno", denial->error > 0 ? strerrorname_np(denial->error) : NULL, "rule",
			report_make_text_json(denial->rule), "reason", report_make_text_json(denial->reason), "pid",
			(int)denial->pid, "exe", report_make_text_json(denial->exe), "count", (json_int_t)denial->count,
			"suggest", report_make_text_json(denial->suggested_option), "event", denial->event, "host_pid",
			denial->host_pid > 0 ? json_integer(denial->host_pid) : NULL, "suggest_reason",
			denial->suggestion_reason, "observed", denial->was_observed ? json_true() : NULL, "on_deny",
			denial->on_deny > ON_DENY_ERRNO ? policy_on_deny_get_name(denial->on_deny) : NULL, "answer",
			denial->answer);

		(void)json_array_append_new(list, item);
	}
	return list;
}

static json_t *report_make_decoys(const struct decoys *decoys)
{
	json_t *list = json_array();
	size_t count;
	const struct decoy_read *read = decoys_get_list(decoys, &count);

	for (size_t i = 0; i < count; i++, read++)
		(void)json_array_append_new(
			list,
			json_pack("{s:I, s:o, s:o, s:i, s:o*, s:o, s:I, s:b}", "seq", (json_int_t)read->seq, "path",
				  report_make_text_json(read->path), "rule", report_make_text_json(read->rule), "pid",
				  (int)read->pid, "host_pid", read->host_pid > 0 ? json_integer(read->host_pid) : NULL,
				  "exe", report_make_text_json(read->exe), "count", (json_int_t)read->count, "killed",
				  (int)read->was_killed));
	return list;
}

static json_t *report_make_after_entries(const struct after_entries *after, const struct policy *policy)
{
	json_t *list = json_array();

	for (size_t i = 0; after && i < after->count; i++) {
		const struct after_fired *fired = &after->fired[i];

		(void)json_array_append_new(
			list, json_pack("{s:I, s:s, s:s*, s:o, s:i, s:o*, s:o, s:I, s:I, s:I}", "seq",
					(json_int_t)fired->seq, "rule", policy_get_after_label(policy, fired->entry),
					"because", policy_get_after_because_text(policy, fired->entry), "path",
					report_make_text_json(fired->path), "pid", (int)fired->pid, "host_pid",
					fired->host_pid > 0 ? json_integer(fired->host_pid) : NULL, "exe",
					report_make_text_json(fired->exe), "descriptors",
					(json_int_t)fired->descriptors, "mappings", (json_int_t)fired->mappings,
					"processes", (json_int_t)fired->processes));
	}
	return list;
}

static json_t *report_make_redirects(const struct call_counts *calls)
{
	json_t *list = json_array();

	for (size_t i = 0; i < calls->redirect_count; i++)
		(void)json_array_append_new(
			list, json_pack("{s:s, s:o, s:o, s:I}", "op", calls->redirect[i].access_kind, "from",
					report_make_text_json(calls->redirect[i].mount->virt), "to",
					report_make_text_json(calls->redirect[i].mount->recorded_host_path), "count",
					(json_int_t)calls->redirect[i].count));
	return list;
}

static void report_add_change(void *ctx, const struct change *change)
{
	static const char *const kinds[] = {
		[CHANGE_ADDED] = "added", [CHANGE_MODIFIED] = "modified", [CHANGE_DELETED] = "deleted"};
	json_t *list = ctx;

	(void)json_array_append_new(list,
				    json_pack("{s:o, s:s, s:I, s:o}", "path", report_make_text_json(change->path),
					      "kind", kinds[change->kind], "size", (json_int_t)change->size_bytes,
					      "sha256", change->sha256[0] ? json_string(change->sha256) : json_null()));
}

static json_t *report_make_syscall_counts(const uint64_t *call_count_by_row)
{
	json_t *object = json_object();
	const struct syscall_row *row;
	size_t count;

	row = table_get_rows(&count);
	for (size_t i = 0; call_count_by_row && i < count; i++)
		if (call_count_by_row[i] > 0)
			(void)json_object_set_new(object, row[i].name, json_integer((json_int_t)call_count_by_row[i]));
	return object;
}

static json_int_t report_get_milliseconds(const struct timeval *time)
{
	return (json_int_t)time->tv_sec * 1000 + time->tv_usec / 1000;
}

static json_t *report_make_usage(const struct supervise_report *report)
{
	return json_pack("{s:I, s:I, s:I, s:I}", "cpu_user_ms", report_get_milliseconds(&report->rusage.ru_utime),
			 "cpu_sys_ms", report_get_milliseconds(&report->rusage.ru_stime), "max_rss_bytes",
			 (json_int_t)report->rusage.ru_maxrss * 1024, "processes", (json_int_t)report->process_count);
}

static json_t *report_make_calls(const struct supervise_report *report)
{
	const struct call_counts *calls = &report->calls;

	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "judged", (json_int_t)calls->judged,
			 "allowed", (json_int_t)calls->allowed, "denied", (json_int_t)calls->denied, "expected",
			 (json_int_t)calls->refused_probe_count, "observed", (json_int_t)calls->observed_denial_count,
			 "approved", (json_int_t)calls->allowed_by_answer_count, "restarted",
			 (json_int_t)report->restarted, "interrupted", (json_int_t)report->interrupted, "by_syscall",
			 report_make_syscall_counts(calls->call_count_by_row));
}

static void report_set_changes(json_t *object, struct changes *changes, const struct view *view)
{
	json_t *list = json_array();

	(void)json_object_set_new(object, "changes", list);
	if (!changes)
		return;
	if (changes_report(changes, view, report_add_change, list) < 0)
		(void)json_array_clear(
			list); /* no memory: no changed file is listed, and "changes_unlisted" counts them all */
	(void)json_object_set_new(object, "changes_unlisted",
				  json_integer((json_int_t)changes_get_unlisted_count(changes)));
}

/* A reference to the list; NULL: an empty one. */
static json_t *report_get_list_or_empty(json_t *list)
{
	return list ? json_incref(list) : json_array();
}

json_t *report_make_json(const struct supervise_report *report, const struct view *view, const struct policy *policy)
{
	const struct network_report *network = &report->network;
	uint64_t unlisted = 0;
	json_t *denials = report->denials ? report_make_denials(report->denials, &unlisted) : json_array();
	json_t *object = json_pack(
		"{s:i, s:i, s:o, s:o, s:o, s:o, s:I, s:o, s:o, s:I, s:o, s:I, s:o, s:o}", "wait_status",
		report->wait_status, "asked", (int)report->asked_to_end_reason, "usage", report_make_usage(report),
		"limits", limits_make_json(report->limit), "calls", report_make_calls(report), "denials", denials,
		"denials_unlisted", (json_int_t)unlisted, "redirects", report_make_redirects(&report->calls), "network",
		report_get_list_or_empty(network->list), "network_unlisted", (json_int_t)network->unlisted_entry_count,
		"network_budgets", report_get_list_or_empty(network->budgets), "network_denied",
		(json_int_t)network->denied_count, "network_advice", report_get_list_or_empty(network->advice),
		"decoys", report->decoys ? report_make_decoys(report->decoys) : json_array());

	(void)json_object_set_new(object, "after_read", report_make_after_entries(report->after_entries, policy));
	if (report->decoy_ended_run)
		(void)json_object_set_new(object, "ended_by", json_string(REPORT_ENDED_BY_DECOY));
	else if (report->answer_ended_run)
		(void)json_object_set_new(object, "ended_by", json_string(REPORT_ENDED_BY_ANSWER));
	else if (report->ended_by != LIMIT_MAX)
		(void)json_object_set_new(object, "ended_by", json_string(limit_get_name(report->ended_by)));
	if (report->sink.kind != SINK_NONE)
		(void)json_object_set_new(object, "audit_sink",
					  json_pack("{s:I, s:I}", "sent", (json_int_t)report->sink.sent, "dropped",
						    (json_int_t)report->sink.dropped));
	report_set_changes(object, report->changes, view);
	return object;
}
