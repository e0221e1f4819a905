/*
 * Logs of OpenTelemetry as JSON lines, each an object of the type LogsData, as the file exporters of OpenTelemetry
 * write them: opentelemetry.io/docs/specs/otel/protocol/file-exporter. A run is a resource.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/audit/export/columns.h"
#include "cli/audit/export/export.h"
#include "cli/audit/export/json.h"
#include "config.h"

#define OTLP_RECORDS_PER_LINE_MAX 256u
#define OTLP_BYTES_PER_LINE_MAX (1u << 20)

/* The state of writing OTLP, OpenTelemetry's format: one line of JSON has several records. */
struct otlp_state {
	const struct audit_log *log; /* the input log whose records are in the output line that is being written */
	bool line_is_open;           /* an output line was begun and is not ended */
	unsigned records_in_line;    /* number of records in the output line that is being written */
};

/* Ends the output line that is open, if there is one. */
static void otlp_close_line(struct export_state *export)
{
	struct otlp_state *state = export->state;

	if (state->line_is_open)
		buf_puts(&export->line_buffer, "]}]}]}\n");
	state->line_is_open = false;
}

/* Writes an attribute of the run, unless it is NULL. */
static void otlp_put_attribute(struct buf *out, const char *key, const char *text)
{
	if (!text)
		return;
	buf_printf(out, ",{\"key\":\"%s\",\"value\":{", key);
	json_put_string(out, "\"stringValue\":", text);
	buf_puts(out, "}}");
}

/* Begins an output line with the attributes of the run. */
static void otlp_open_line(struct export_state *export, const struct audit_log *log)
{
	struct otlp_state *state = export->state;
	struct buf *out = &export->line_buffer;
	const json_t *policy = json_object_get(log->header, "policy");

	buf_puts(out, "{\"resourceLogs\":[{\"resource\":{\"attributes\":["
		      "{\"key\":\"service.name\",\"value\":{\"stringValue\":\"callgate\"}}");
	otlp_put_attribute(out, "service.instance.id", json_string_value(json_object_get(log->header, "run")));
	otlp_put_attribute(out, "service.version", json_string_value(json_object_get(log->header, "version")));
	otlp_put_attribute(out, "os.version", json_string_value(json_object_get(log->header, "kernel")));
	otlp_put_attribute(out, "callgate.policy", json_string_value(json_object_get(policy, "name")));
	otlp_put_attribute(out, "callgate.policy.sha256", json_string_value(json_object_get(policy, "sha256")));
	buf_puts(out, "]},\"scopeLogs\":[{\"scope\":{\"name\":\"callgate.audit\",\"version\":\"" PACKAGE_VERSION
		      "\"},\"logRecords\":[");
	state->log = log;
	state->line_is_open = true;
	state->records_in_line = 0;
}

/* Returns the name of a column's attribute: that of OpenTelemetry's semantic conventions, if there is one. */
static const char *otlp_get_name(const char *column)
{
	static const char *const names[][2] = {
		{"pid", "process.pid"},         {"tid", "thread.id"},
		{"ppid", "process.parent_pid"}, {"exe", "process.executable.path"},
		{"host", "server.address"},     {"port", "server.port"},
		{"method", "http.request.method"}, {"status", "http.response.status_code"},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(column, names[i][0]) == 0)
			return names[i][1];
	return NULL;
}

/* Writes a column of a record as an attribute, under OpenTelemetry's name if it has one. */
static void otlp_put_column(struct buf *out, size_t column, const struct column_value *value)
{
	const char *name = column_get_name(column), *known = otlp_get_name(name);

	buf_printf(out, ",{\"key\":\"%s%s\",\"value\":{", known ? "" : "callgate.", known ? known : name);
	if (column_get_type(column) == COLUMN_INTEGER)
		buf_printf(out, "\"intValue\":\"%lld\"}}", (long long)value->integer_value);
	else if (column_get_type(column) == COLUMN_REAL)
		buf_printf(out, "\"doubleValue\":%.*s}}", (int)value->text_value.len, value->text_value.at);
	else if (strcmp(name, "args") == 0) {
		char *args = strndup(value->text_value.at, value->text_value.len);

		json_put_string(out, "\"stringValue\":", args); /* JSON, written as a text */
		buf_puts(out, "}}");
		out->failed = out->failed || !args;
		free(args);
	} else {
		json_put_text(out, "\"stringValue\":", &value->text_value);
		buf_puts(out, "}}");
	}
}

/* Writes a record as a "logRecord" of OpenTelemetry. */
static void otlp_put_record(struct buf *out, const struct audit_entry *entry)
{
	const struct scan_record *record = &entry->record;
	bool denied = record_is_denied(record);

	buf_printf(out, "{\"timeUnixNano\":\"%llu\",\"severityNumber\":%d,\"severityText\":\"%s\"",
		   (unsigned long long)entry->time_ns, denied ? 13 : 9, denied ? "WARN" : "INFO");
	buf_puts(out, ",\"body\":{\"stringValue\":\"");
	audit_put_text(out, &record->verdict);
	buf_puts(out, " ");
	audit_put_text(out, record_get_call(record));
	buf_puts(out, " ");
	(void)audit_put_object(out, record);
	buf_puts(out, "\"},\"attributes\":[");
	buf_printf(out, "{\"key\":\"callgate.seq\",\"value\":{\"intValue\":\"%llu\"}}",
		   (unsigned long long)record->seq);
	for (size_t i = 0; i < columns_count(); i++) {
		struct column_value value = column_get_value(i, entry);

		if (value.is_present && strcmp(column_get_name(i), "seq") != 0 &&
		    strcmp(column_get_name(i), "time") != 0)
			otlp_put_column(out, i, &value);
	}
	buf_puts(out, "]}");
}

static int otlp_begin(struct export_state *export)
{
	export->state = calloc(1, sizeof(struct otlp_state));
	return export->state ? 0 : -ENOMEM;
}

/* Adds a record to the present line, or to a new one if the present one is full or of another run. */
static int otlp_add_entry(struct export_state *export, const struct audit_entry *entry)
{
	struct otlp_state *state = export->state;

	/* A line ends before a header, because another run's records need another resource. */
	if (entry->json || state->log != entry->log || state->records_in_line >= OTLP_RECORDS_PER_LINE_MAX ||
	    export->line_buffer.len > OTLP_BYTES_PER_LINE_MAX)
		otlp_close_line(export);
	if (entry->json)
		return export_flush_line(export);
	if (!state->line_is_open) {
		int r = export_flush_line(export);

		if (r < 0)
			return r;
		otlp_open_line(export, entry->log);
	}
	buf_puts(&export->line_buffer, state->records_in_line++ > 0 ? "," : "");
	otlp_put_record(&export->line_buffer, entry);
	return export->line_buffer.failed ? -ENOMEM : 0;
}

static int otlp_end(struct export_state *export)
{
	otlp_close_line(export);
	return 0;
}

const struct export_format export_otlp = {
	.name = "otlp-json", .begin = otlp_begin, .entry = otlp_add_entry, .end = otlp_end};
