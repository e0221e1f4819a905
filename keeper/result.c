#include "keeper/result.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/text.h"
#include "keeper/libraries.h"
#include "keeper/utf8.h"
#include "supervisor/limits/limits.h"
#include "supervisor/report.h"

/* A member of the supervisor's report, or what otherwise() makes. */
static json_t *result_get_field(json_t *report, const char *name, json_t *(*otherwise)(void))
{
	json_t *value = json_object_get(report, name);

	return value ? json_incref(value) : otherwise();
}

static json_t *result_make_empty_calls_json(void)
{
	return json_pack("{s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:{}}", "judged", 0, "allowed", 0, "denied", 0,
			 "expected", 0, "observed", 0, "restarted", 0, "interrupted", 0, "by_syscall");
}

static json_t *result_make_empty_usage_json(void)
{
	return json_pack("{s:n, s:n, s:n, s:n}", "cpu_user_ms", "cpu_sys_ms", "max_rss_bytes", "processes");
}

/* The JSON of a limit that the keeper measures. "peak" is the same as "used". */
static json_t *result_make_limit(uint64_t limit, uint64_t unlimited, uint64_t used, bool hit)
{
	return json_pack("{s:o, s:I, s:I, s:b}", "limit",
			 limit == unlimited ? json_null() : json_integer((json_int_t)limit), "used", (json_int_t)used,
			 "peak", (json_int_t)used, "hit", (int)hit);
}

/* The JSON of the limits that the supervisor measures. Without its report only the values of the limits are known. */
static json_t *result_get_supervisor_limits(const struct keeper_options *options, const struct keeper_outcome *outcome)
{
	json_t *report = json_object_get(outcome->report, "limits");
	struct limit_meter meters[LIMIT_MAX];

	if (report)
		return json_incref(report);
	limits_meters_init(meters, &policy_get_settings(options->policy)->limits);
	return limits_make_json(meters);
}

static json_t *result_make_limits(const struct keeper_options *options, const struct keeper_outcome *outcome)
{
	json_t *all = json_object(), *others = result_get_supervisor_limits(options, outcome);

	(void)json_object_set_new(all, "wall",
				  result_make_limit(options->time_limit_ns / 1000000, 0, outcome->duration_ns / 1000000,
						    outcome->ending.status == RUN_TIMEOUT));
	(void)json_object_update(all, others);
	json_decref(others);
	(void)json_object_set_new(all, "stdout",
				  result_make_limit(options->stdout_limit_bytes, CAPTURE_NO_LIMIT,
						    outcome->out.total_bytes, outcome->out.is_truncated));
	(void)json_object_set_new(all, "stderr",
				  result_make_limit(options->stderr_limit_bytes, CAPTURE_NO_LIMIT,
						    outcome->err.total_bytes, outcome->err.is_truncated));
	return all;
}

/* Sets the fields NAME_bytes, NAME_truncated and NAME_path of an output stream, and NAME unless it was forwarded. */
static void result_set_stream(json_t *result, const char *name, struct capture *capture,
			      const struct keeper_options *options)
{
	_cleanup_free_ char *text = NULL, *path = NULL;
	bool changed = false;
	char key[32];
	size_t len = 0;

	text = utf8_copy_repaired(capture->kept_bytes ? capture->kept_bytes : "", capture->kept_len, &len, &changed);
	if (changed && !options->forwards_output)
		(void)capture_ensure_spill_file(capture); /* on failure spill_fd stays -1 */
	if (capture->spill_fd >= 0)
		path = scratch_move_file_to_results(options->scratch, capture->options.spill_file_name);
	if (!options->forwards_output)
		(void)json_object_set_new(result, name, text ? json_stringn(text, len) : json_null());
	(void)snprintf(key, sizeof(key), "%s_bytes", name);
	(void)json_object_set_new(result, key, json_integer((json_int_t)capture->total_bytes));
	(void)snprintf(key, sizeof(key), "%s_truncated", name);
	(void)json_object_set_new(result, key, json_boolean(capture->is_truncated));
	(void)snprintf(key, sizeof(key), "%s_path", name);
	(void)json_object_set_new(result, key, path ? report_make_text_json(path) : json_null());
}

static void result_set_ending(json_t *result, const struct run_ending *ending)
{
	(void)json_object_set_new(result, "status", json_string(run_status_get_name(ending->status)));
	(void)json_object_set_new(result, "exit_code", json_integer(ending->exit_code));
	(void)json_object_set_new(result, "signal", ending->signal ? json_integer(ending->signal) : json_null());
}

static json_t *result_make_error_object(const char *code, const char *message)
{
	return code ? json_pack("{s:s, s:o}", "code", code, "message", report_make_text_json(message)) : json_null();
}

/* The JSON of how callgate ended the run or asked the program to end; null: it did neither. */
static json_t *result_make_termination(const struct keeper_outcome *outcome)
{
	unsigned why = outcome->asked_to_end_reason ? outcome->asked_to_end_reason : outcome->end_reason;
	bool timeout = why == RUN_END_TIMEOUT;

	if (why == RUN_END_NOT_ORDERED || why == RUN_END_OUTPUT_LIMIT)
		return json_null();
	return json_pack("{s:s, s:o, s:b}", "cause",
			 timeout                         ? "timeout"
			 : outcome->was_killed_for_decoy ? "decoy"
			 : outcome->was_killed_by_answer ? "answer"
							 : "signal",
			 "sent",
			 outcome->asked_to_end_reason ? json_integer(timeout ? SIGTERM : (json_int_t)why) : json_null(),
			 "killed", (int)(outcome->end_reason != RUN_END_NOT_ORDERED));
}

static json_t *result_make_anchor(const struct keeper_outcome *outcome)
{
	return json_pack("{s:I, s:I, s:I, s:s*}", "checkpoints", (json_int_t)outcome->anchored, "skipped",
			 (json_int_t)outcome->anchors_skipped, "lines", (json_int_t)outcome->anchored_lines, "error",
			 outcome->anchor_error ? strerrorname_np(-outcome->anchor_error) : NULL);
}

/* The JSON of the log. head, lines and key identify a signed log: callgate-audit(5). */
static json_t *result_make_audit(const struct keeper_options *options, const struct keeper_outcome *outcome)
{
	json_t *records = json_object_get(outcome->report, "records");
	json_t *audit = json_pack("{s:o, s:O}", "file", report_make_text_json(options->audit_path), "records",
				  records ? records : json_null());

	if (outcome->log_end.line_count > 0) {
		(void)json_object_set_new(audit, "lines", json_integer((json_int_t)outcome->log_end.line_count));
		(void)json_object_set_new(audit, "head", json_string(outcome->log_end.trailer_hash));
		(void)json_object_set_new(audit, "key", json_string(outcome->log_public_key_text));
		if (options->anchor_fd >= 0)
			(void)json_object_set_new(audit, "anchor", result_make_anchor(outcome));
	}
	if (json_object_get(outcome->report, "rotation_error"))
		(void)json_object_set(audit, "rotation_error", json_object_get(outcome->report, "rotation_error"));
	return audit;
}

/* Sets result[name] to the number that the report has under this name, or 0. */
static void result_set_count(json_t *result, json_t *report, const char *name)
{
	(void)json_object_set_new(result, name, json_integer(json_integer_value(json_object_get(report, name))));
}

/* Sets result[name] to the list that the report has under this name, or an empty one. */
static void result_set_list(json_t *result, json_t *report, const char *name)
{
	(void)json_object_set_new(result, name, result_get_field(report, name, json_array));
}

/* Sets what the supervisor has reported of denials, reads, the network and changes. */
static void result_set_reported(json_t *result, json_t *report)
{
	result_set_list(result, report, "denials");
	result_set_count(result, report, "denials_unlisted");
	(void)json_object_set_new(result, "libraries", libraries_make_missing(json_object_get(report, "denials")));
	result_set_list(result, report, "decoys");
	result_set_list(result, report, "after_read");
	result_set_list(result, report, "redirects");
	result_set_list(result, report, "network");
	result_set_count(result, report, "network_unlisted");
	result_set_list(result, report, "network_budgets");
	result_set_list(result, report, "network_advice");
	result_set_list(result, report, "changes");
	result_set_count(result, report, "changes_unlisted");
}

json_t *result_make_json(const struct keeper_options *options, struct keeper_outcome *outcome)
{
	json_t *result = json_object(), *report = outcome->report;

	(void)json_object_set_new(result, "schema", json_string(RESULT_SCHEMA));
	(void)json_object_set_new(result, "run_id", json_string(options->scratch->id));
	(void)json_object_set_new(result, "mode",
				  json_string(policy_is_observing(options->policy) ? "observe" : "enforce"));
	(void)json_object_set_new(result, "judge",
				  json_string(policy_judge_get_name(
					  options->layers->layer[LAYER_KERNEL_READS].active ? POLICY_JUDGE_CHANGES
											    : POLICY_JUDGE_ALL)));
	(void)json_object_set_new(result, "dry_run", json_boolean(options->overlay == VIEW_OVERLAY_ALL));
	result_set_ending(result, &outcome->ending);
	(void)json_object_set_new(result, "termination", result_make_termination(outcome));
	(void)json_object_set_new(result, "duration_ms", json_integer((json_int_t)(outcome->duration_ns / 1000000)));
	result_set_stream(result, "stdout", &outcome->out, options);
	result_set_stream(result, "stderr", &outcome->err, options);
	result_set_reported(result, report);
	(void)json_object_set_new(result, "limits", result_make_limits(options, outcome));
	(void)json_object_set_new(result, "usage", result_get_field(report, "usage", result_make_empty_usage_json));
	(void)json_object_set_new(result, "calls", result_get_field(report, "calls", result_make_empty_calls_json));
	if (policy_get_settings(options->policy)->sha256[0] == '\0')
		(void)policy_compute_sha256(options->policy); /* the run failed before the keeper computed it */
	(void)json_object_set_new(result, "policy",
				  json_pack("{s:o, s:s}", "name",
					    report_make_text_json(policy_get_settings(options->policy)->name), "sha256",
					    policy_get_settings(options->policy)->sha256));
	(void)json_object_set_new(result, "enforcement", layers_make_json(options->layers));
	(void)json_object_set_new(result, "audit", result_make_audit(options, outcome));
	if (json_object_get(report, "audit_sink"))
		(void)json_object_set(result, "audit_sink", json_object_get(report, "audit_sink"));
	(void)json_object_set_new(result, "error",
				  result_make_error_object(outcome->error_code, outcome->error_message));
	return result;
}

json_t *result_make_error(const char *run_id, int exit_code, const char *code, const char *message)
{
	return json_pack("{s:s, s:s?, s:s, s:i, s:n, s:i, s:[], s:[], s:[], s:[], s:[], s:[], s:o, s:o}", "schema",
			 RESULT_SCHEMA, "run_id", run_id, "status", run_status_get_name(RUN_ERROR), "exit_code",
			 exit_code, "signal", "duration_ms", 0, "denials", "decoys", "after_read", "redirects",
			 "network", "changes", "calls", result_make_empty_calls_json(), "error",
			 result_make_error_object(code, message));
}

void result_set_error(json_t *result, const char *code, const char *message)
{
	const struct run_ending ending = {.status = RUN_ERROR, .exit_code = RUN_EXIT_ERROR};

	result_set_ending(result, &ending);
	(void)json_object_set_new(result, "error", result_make_error_object(code, message));
}

static int result_write_line(int fd, json_t *line)
{
	_cleanup_free_ char *text = json_dumps(line, JSON_COMPACT);
	_cleanup_free_ char *ended = text ? text_format("%s\n", text) : NULL;

	json_decref(line);
	return ended ? io_write_all(fd, ended, strlen(ended)) : -ENOMEM;
}

int result_write_start_line(int fd, const char *run_id, pid_t keeper)
{
	return result_write_line(fd,
				 json_pack("{s:s, s:s, s:i}", "event", "start", "run_id", run_id, "pid", (int)keeper));
}

int result_write_progress_line(int fd, const struct result_progress *progress)
{
	return result_write_line(
		fd, json_pack("{s:s, s:s, s:I, s:I, s:I, s:{s:I, s:I}, s:{s:I, s:I}}", "event", "progress", "run_id",
			      progress->run_id, "duration_ms", (json_int_t)progress->duration_ms, "memory_bytes",
			      (json_int_t)progress->memory_bytes, "processes", (json_int_t)progress->processes, "calls",
			      "judged", (json_int_t)progress->judged, "denied", (json_int_t)progress->denied, "network",
			      "open", (json_int_t)progress->connection_count, "denied",
			      (json_int_t)progress->network_denied_count));
}

int result_write_end_line(int fd, const json_t *result)
{
	json_t *line = json_pack("{s:s}", "event", "end");
	static const char *const fields[] = {"run_id", "status", "exit_code", "signal", "duration_ms"};

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		(void)json_object_set(line, fields[i], json_object_get(result, fields[i]));
	return result_write_line(fd, line);
}
