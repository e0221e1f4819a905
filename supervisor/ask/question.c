#include "supervisor/ask/question.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "audit/clock.h"
#include "base/cleanup-json.h"
#include "base/cleanup.h"
#include "supervisor/ask/details.h"
#include "supervisor/ask/endpoint.h"
#include "supervisor/report.h"

/* jansson has one pair of these functions: callgate calls it in one thread. */
static struct {
	json_malloc_t get;
	json_free_t release;
	bool failed;
} question_memory;

static void *question_get_memory(size_t size)
{
	void *memory = question_memory.get(size);

	question_memory.failed |= !memory;
	return memory;
}

void question_begin_making(void)
{
	json_get_alloc_funcs(&question_memory.get, &question_memory.release);
	question_memory.failed = false;
	json_set_alloc_funcs(question_get_memory, question_memory.release);
}

bool question_end_making(void)
{
	json_set_alloc_funcs(question_memory.get, question_memory.release);
	return !question_memory.failed;
}

json_t *question_make_time(void)
{
	struct audit_clock clock = {.text_second = -1};
	const char *time;

	(void)audit_clock_read(&clock, &time);
	return json_stringn(time, AUDIT_TIMESTAMP_LEN);
}

bool question_has_member(const json_t *object, const char *name, bool is_told)
{
	return !is_told || json_object_get(object, name);
}

static json_t *question_make_value(const struct audit_arg *arg)
{
	char text[32];

	switch (arg->kind) {
	case AUDIT_ARG_INT:
		return json_integer((json_int_t)arg->value);
	case AUDIT_ARG_HEX:
		(void)snprintf(text, sizeof(text), "0x%" PRIx64, arg->value);
		return json_string(text);
	case AUDIT_ARG_MODE:
		(void)snprintf(text, sizeof(text), "%#" PRIo64, arg->value);
		return json_string(text);
	case AUDIT_ARG_TEXT:
	default:
		return report_make_text_json(arg->text);
	}
}

/* NULL: out of memory. */
static json_t *question_make_args(const struct audit_record *record)
{
	_cleanup_json_ json_t *args = json_object();

	for (size_t i = 0; i < record->arg_count; i++)
		if (json_object_set_new(args, record->arg[i].name, question_make_value(&record->arg[i])) < 0)
			return NULL;
	return json_incref(args);
}

/* The sentence in a question file that explains how to answer it. */
static json_t *question_make_how_to_answer(uint64_t number)
{
	return json_sprintf("write allow, allow-always, deny or kill to the file %" PRIu64 ".answer beside this one: "
			    "echo allow >%" PRIu64 ".answer",
			    number, number);
}

json_t *question_make_object(const struct question_origin *origin, const struct call *denied, const struct call *asked)
{
	const char right[] = {asked->net.host[0]                             ? 'c'
			      : asked->decision.wanted_rights & POLICY_EXEC  ? 'x'
			      : asked->decision.wanted_rights & POLICY_WRITE ? 'w'
									     : 'r',
			      '\0'};
	_cleanup_json_ json_t *object = NULL;
	struct audit_record record;

	call_fill_record(asked, &record); /* all texts of the record end with NUL */
	object = json_pack("{s:I, s:o, s:s, s:i, s:i, s:o*, s:o, s:s, s:o, s:o, s:o, s:o*, s:o*, s:o*, s:s, s:o, s:s, "
			   "s:s?, s:I}",
			   "seq", (json_int_t)origin->number, "time", question_make_time(), "run", origin->run_id,
			   "pid", (int)record.pid, "tid", (int)record.tid, "host_pid",
			   record.host_pid > 0 ? json_integer(record.host_pid) : NULL, "exe",
			   report_make_text_json(record.exe), "syscall", record.syscall, "args",
			   question_make_args(&record), "path", report_make_text_json(record.path), "resolved",
			   report_make_text_json(record.resolved_path), "path2",
			   record.second_path ? report_make_text_json(record.second_path) : NULL, "resolved2",
			   record.second_resolved_path ? report_make_text_json(record.second_resolved_path) : NULL,
			   "endpoint", endpoint_make_object(asked), "right", right, "rule",
			   report_make_text_json(denied->decision.rule), "reason", denied->decision.reason, "errno",
			   denied->decision.error > 0 ? strerrorname_np(denied->decision.error) : NULL, "timeout_ms",
			   (json_int_t)origin->timeout_ms);
	if (question_has_member(object, "host_pid", record.host_pid > 0) &&
	    question_has_member(object, "path2", record.second_path) &&
	    question_has_member(object, "resolved2", record.second_resolved_path) &&
	    question_has_member(object, "endpoint", asked->net.host[0]))
		return json_incref(object);
	return NULL;
}

char *question_make_text(const struct question_origin *origin, const struct call *denied, const struct call *asked)
{
	_cleanup_json_ json_t *object = question_make_object(origin, denied, asked);

	if (!object || !details_add_execution(object, asked) ||
	    json_object_set_new(object, "how_to_answer", question_make_how_to_answer(origin->number)) < 0)
		return NULL;
	return json_dumps(object, JSON_INDENT(2));
}
