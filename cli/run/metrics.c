/*
 * Writes the result of a run as metrics. Names and types are those of OpenMetrics 1.0, except for types that the older
 * Prometheus text format lacks.
 */
#include "cli/run/metrics.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

/*
 * Begins a metric family. `type` is gauge or counter; the samples of a counter have "_total" after the family's name.
 */
static void metrics_begin_family(struct buf *out, const char *name, const char *type, const char *help)
{
	buf_printf(out, "# TYPE callgate_run_%s %s\n# HELP callgate_run_%s %s\n", name, type, name, help);
}

/* Writes a label's value with the escapes of OpenMetrics: backslash, quote and newline. */
static void metrics_put_label(struct buf *out, const char *name, const char *value)
{
	buf_printf(out, "%s=\"", name);
	for (const char *at = value ? value : ""; *at; at++) {
		if (*at == '\n')
			buf_puts(out, "\\n");
		else
			buf_printf(out, "%s%c", *at == '\\' || *at == '"' ? "\\" : "", *at);
	}
	buf_puts(out, "\"");
}

/*
 * Writes one sample. label NULL: the sample has no label. Writes nothing if the value is not a number, because it was
 * not measured.
 */
static void metrics_put_sample(struct buf *out, const char *name, const char *label, const char *value,
			       const json_t *number, double scale)
{
	if (!json_is_number(number))
		return;
	buf_printf(out, "callgate_run_%s", name);
	if (label) {
		buf_puts(out, "{");
		metrics_put_label(out, label, value);
		buf_puts(out, "}");
	}
	buf_printf(out, " %.15g\n", json_number_value(number) * scale);
}

/* Writes what was run and how it ended, as labels of a metric. */
static void metrics_put_info(struct buf *out, const json_t *result)
{
	static const char *const fields[] = {"run_id", "status", "mode", "judge"};
	const json_t *policy = json_object_get(result, "policy");

	metrics_begin_family(out, "info", "gauge", "What was run and how it ended; the value is 1.");
	buf_puts(out, "callgate_run_info{");
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		metrics_put_label(out, fields[i], json_string_value(json_object_get(result, fields[i])));
		buf_puts(out, ",");
	}
	metrics_put_label(out, "policy", json_string_value(json_object_get(policy, "name")));
	buf_puts(out, ",");
	metrics_put_label(out, "policy_sha256", json_string_value(json_object_get(policy, "sha256")));
	buf_puts(out, "} 1\n");
}

/* Writes a family of one sample without labels. `sample` is the sample's name, which for counters ends in "_total". */
static void metrics_put_single(struct buf *out, const char *name, const char *sample, const char *help,
			       const json_t *number, double scale)
{
	const char *type = strcmp(name, sample) == 0 ? "gauge" : "counter";

	if (!json_is_number(number))
		return;
	metrics_begin_family(out, name, type, help);
	metrics_put_sample(out, sample, NULL, NULL, number, scale);
}

static void metrics_put_calls(struct buf *out, json_t *calls)
{
	static const char *const kinds[] = {"allowed", "denied", "expected", "observed", "restarted", "interrupted"};
	const char *name;
	json_t *count, *by_syscall;

	metrics_put_single(out, "calls_judged", "calls_judged_total", "System calls that were judged.",
			   json_object_get(calls, "judged"), 1);
	metrics_begin_family(out, "calls", "counter", "System calls by what became of them.");
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		metrics_put_sample(out, "calls_total", "kind", kinds[i], json_object_get(calls, kinds[i]), 1);
	metrics_begin_family(out, "syscall_calls", "counter", "System calls that were judged, by their name.");
	by_syscall = json_object_get(calls, "by_syscall");
	json_object_foreach(by_syscall, name, count) {
		metrics_put_sample(out, "syscall_calls_total", "syscall", name, count, 1);
	}
}

/* Writes a sample for each value that the field `label` has in the list. Each list entry adds its "count", or 1. */
static void metrics_put_counts_by_field(struct buf *out, const char *sample, const char *label, const json_t *list)
{
	json_t *sums = json_object(), *item, *sum;
	const char *value;
	size_t i;

	json_array_foreach(list, i, item) {
		const json_t *count = json_object_get(item, "count");

		value = json_string_value(json_object_get(item, label));
		if (value)
			(void)json_object_set_new(sums, value,
						  json_integer(json_integer_value(json_object_get(sums, value)) +
							       (count ? json_integer_value(count) : 1)));
	}
	json_object_foreach(sums, value, sum) {
		metrics_put_sample(out, sample, label, value, sum, 1);
	}
	json_decref(sums);
}

/* Writes how many connections and requests were allowed or denied, and how many bytes were moved. */
static void metrics_put_network(struct buf *out, const json_t *list)
{
	static const char *const directions[] = {"up", "down"};
	static const char *const fields[] = {"bytes_up", "bytes_down"};
	json_t *item, *sum;
	size_t i;

	metrics_begin_family(out, "network_entries", "counter", "Connections and requests, by the decision on them.");
	metrics_put_counts_by_field(out, "network_entries_total", "decision", list);
	metrics_begin_family(out, "network_bytes", "counter", "Bytes through approved endpoints.");
	for (size_t way = 0; way < sizeof(fields) / sizeof(fields[0]); way++) {
		sum = json_integer(0);
		json_array_foreach(list, i, item)
			(void)json_integer_set(sum, json_integer_value(sum) +
							    json_integer_value(json_object_get(item, fields[way])));
		metrics_put_sample(out, "network_bytes_total", "direction", directions[way], sum, 1);
		json_decref(sum);
	}
}

/* Writes for each of some objects whether a member of it is true, as 1 or 0. */
static void metrics_put_flags(struct buf *out, const char *family, const char *label, json_t *objects, const char *key)
{
	const char *name;
	json_t *object;

	json_object_foreach(objects, name, object)
	{
		json_t *flag = json_integer(json_is_true(json_object_get(object, key)));

		metrics_put_sample(out, family, label, name, flag, 1);
		json_decref(flag);
	}
}

/* Writes for each limit whether it was reached, and how much of it was used. */
static void metrics_put_limits(struct buf *out, json_t *limits)
{
	const char *name;
	json_t *meter;

	metrics_begin_family(out, "limit_hit", "gauge", "1 when the limit was reached.");
	metrics_put_flags(out, "limit_hit", "limit", limits, "hit");
	metrics_begin_family(out, "limit_peak_ratio", "gauge", "The largest use of a limit, as a part of it.");
	json_object_foreach(limits, name, meter) {
		const double limit = json_number_value(json_object_get(meter, "limit"));

		if (limit > 0)
			metrics_put_sample(out, "limit_peak_ratio", "limit", name, json_object_get(meter, "peak"),
					   1 / limit);
	}
}

/* Writes for each sandbox layer whether it held the run. */
static void metrics_put_layers(struct buf *out, json_t *layers)
{
	metrics_begin_family(out, "layer_active", "gauge", "1 for each sandbox layer that held the run.");
	metrics_put_flags(out, "layer_active", "layer", layers, "active");
}

/* Writes processor time, memory, processes and output of the run. */
static void metrics_put_usage(struct buf *out, const json_t *result)
{
	const json_t *usage = json_object_get(result, "usage");

	metrics_begin_family(out, "cpu_seconds", "counter", "CPU time of the program's processes.");
	metrics_put_sample(out, "cpu_seconds_total", "mode", "user", json_object_get(usage, "cpu_user_ms"), 1e-3);
	metrics_put_sample(out, "cpu_seconds_total", "mode", "system", json_object_get(usage, "cpu_sys_ms"), 1e-3);
	metrics_put_single(out, "max_rss_bytes", "max_rss_bytes", "Largest resident memory of one process.",
			   json_object_get(usage, "max_rss_bytes"), 1);
	metrics_put_single(out, "processes", "processes_total", "Processes that made a judged call.",
			   json_object_get(usage, "processes"), 1);
	metrics_begin_family(out, "output_bytes", "counter", "Bytes that the program wrote to its output.");
	metrics_put_sample(out, "output_bytes_total", "stream", "stdout", json_object_get(result, "stdout_bytes"), 1);
	metrics_put_sample(out, "output_bytes_total", "stream", "stderr", json_object_get(result, "stderr_bytes"), 1);
}

char *metrics_make_text(const json_t *result, double end_time)
{
	_cleanup_buf_ struct buf out = {0};
	json_t *ended = json_real(end_time);

	metrics_put_info(&out, result);
	metrics_put_single(&out, "end_time_seconds", "end_time_seconds", "When the run ended, since the epoch.", ended,
			   1);
	json_decref(ended);
	metrics_put_single(&out, "duration_seconds", "duration_seconds", "How long the run took.",
			   json_object_get(result, "duration_ms"), 1e-3);
	metrics_put_single(&out, "exit_code", "exit_code", "Exit status of callgate.",
			   json_object_get(result, "exit_code"), 1);
	metrics_put_usage(&out, result);
	metrics_put_calls(&out, json_object_get(result, "calls"));
	metrics_begin_family(&out, "denials", "counter",
			     "Denied attempts that the result lists, by what was asked for.");
	metrics_put_counts_by_field(&out, "denials_total", "op", json_object_get(result, "denials"));
	metrics_begin_family(&out, "changes", "gauge", "Files that the run changed, by how.");
	metrics_put_counts_by_field(&out, "changes", "kind", json_object_get(result, "changes"));
	metrics_put_network(&out, json_object_get(result, "network"));
	metrics_put_limits(&out, json_object_get(result, "limits"));
	metrics_put_layers(&out, json_object_get(result, "enforcement"));
	metrics_put_single(&out, "audit_records", "audit_records_total", "Records of the audit log.",
			   json_object_get(json_object_get(result, "audit"), "records"), 1);
	buf_puts(&out, "# EOF\n");
	return buf_take_text(&out);
}
