/*
 * A trace in the JSON format that Perfetto, Chrome and Speedscope open: processes and threads as tracks, calls as
 * slices, denials as instants. Times are microseconds since the first header, with three decimal places.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/audit/export/export.h"
#include "cli/audit/export/json.h"
#include "cli/audit/tally.h"

#define PERFETTO_PID_BITS 22u /* bits of the largest pid: PID_MAX_LIMIT */
/* number of the first track of a connection; tracks with lower numbers are threads */
#define PERFETTO_CONN_TRACK_FIRST (UINT64_C(1) << 30)

/* The state of writing a trace for Perfetto. */
struct perfetto_state {
	/*
	 * tally of tracks, named by pid and thread or connection; counts[0]: 1 once the track's name was written;
	 * counts[1]: end of the track's last slice in ns
	 */
	struct tally track_of_thread;
	struct tally programs; /* programs by pid; data: the program's name, owned */
	uint64_t start_ns;     /* time of the first record, from which all times are counted */
	bool has_written_event; /* an event was written, so the next one needs a comma */
};

static int perfetto_begin(struct export_state *export)
{
	export->state = calloc(1, sizeof(struct perfetto_state));
	buf_puts(&export->line_buffer, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
	return export->state ? export_flush_line(export) : -ENOMEM;
}

/* Begins an event. phase: Perfetto's letter for its kind. */
static void perfetto_begin_event(struct export_state *export, const char *phase, uint64_t pid, uint64_t track)
{
	struct perfetto_state *state = export->state;

	buf_printf(&export->line_buffer, "%s{\"ph\":\"%s\",\"pid\":%llu,\"tid\":%llu",
		   state->has_written_event ? ",\n" : "", phase, (unsigned long long)pid, (unsigned long long)track);
	state->has_written_event = true;
}

/* Returns the pid in the trace. With several logs, each log has its own range of pids. */
static uint64_t perfetto_get_pid(const struct export_state *export, const struct audit_entry *entry)
{
	uint64_t pid = (uint64_t)entry->record.pid & ((UINT64_C(1) << PERFETTO_PID_BITS) - 1);

	return export->has_several_logs ? (entry->log->index + 1) << PERFETTO_PID_BITS | pid : pid;
}

/* Names a process's track after its program, at the process's first record and after each exec. */
static int perfetto_name_process(struct export_state *export, const struct audit_entry *entry, uint64_t pid)
{
	struct perfetto_state *state = export->state;
	const struct scan_text *exe = &entry->record.exe;
	struct scan_text name = json_get_basename(exe);
	struct tally_item *item = tally_find_or_add_item(&state->programs, (const char *)&pid, sizeof(pid));

	if (!item)
		return -ENOMEM;
	if (!exe->at || (item->data && strlen(item->data) == exe->len && memcmp(item->data, exe->at, exe->len) == 0))
		return 0;
	free(item->data);
	item->data = strndup(exe->at, exe->len);
	perfetto_begin_event(export, "M", pid, pid);
	json_put_text(&export->line_buffer, ",\"name\":\"process_name\",\"args\":{\"name\":", &name);
	buf_puts(&export->line_buffer, "}}");
	if (export->has_several_logs) {
		perfetto_begin_event(export, "M", pid, pid);
		buf_printf(&export->line_buffer, ",\"name\":\"process_labels\",\"args\":{\"labels\":\"run %s\"}}",
			   entry->log->run);
	}
	return item->data ? 0 : -ENOMEM;
}

/* Finds the track of a record: the track of its thread or of its connection. NULL: no memory. */
static struct tally_item *perfetto_find_track(struct export_state *export, const struct scan_record *record,
					      uint64_t pid, uint64_t *ret_track)
{
	struct perfetto_state *state = export->state;
	uint64_t key[2] = {pid, record->event.at ? PERFETTO_CONN_TRACK_FIRST + record->conn
						 : (uint64_t)record_get_tid(record)};
	struct tally_item *item;

	if (!record->event.at && export->has_several_logs)
		key[1] |= pid & ~((UINT64_C(1) << PERFETTO_PID_BITS) - 1);
	*ret_track = key[1];
	item = tally_find_or_add_item(&state->track_of_thread, (const char *)key, sizeof(key));
	if (!item || item->counts[0] || !record->event.at)
		return item;
	item->counts[0] = 1;
	perfetto_begin_event(export, "M", pid, key[1]);
	buf_printf(&export->line_buffer, ",\"name\":\"thread_name\",\"args\":{\"name\":\"connection %llu ",
		   (unsigned long long)record->conn);
	audit_put_endpoint(&export->line_buffer, record);
	buf_puts(&export->line_buffer, "\"}}");
	return item;
}

static void perfetto_put_args(struct buf *out, const struct audit_entry *entry)
{
	const struct scan_record *record = &entry->record;
	bool known;
	const struct scan_text *path = record_get_path_argument(&record->path[0], &known);

	buf_printf(out, ",\"args\":{\"seq\":%llu", (unsigned long long)record->seq);
	json_put_text(out, ",\"verdict\":", &record->verdict);
	json_put_text(out, ",\"path\":", path);
	json_put_text(out, ",\"path2\":", &record->path[1].as_written);
	json_put_text(out, ",\"host\":", &record->host);
	if (record->port)
		json_put_int(out, ",\"port\":", (int64_t)record->port);
	json_put_text(out, ",\"method\":", &record->method);
	json_put_text(out, ",\"rule\":", &record->rule);
	json_put_text(out, ",\"reason\":", &record->reason);
	json_put_text(out, ",\"errno\":", &record->error);
	if (record->has_ret)
		json_put_int(out, ",\"ret\":", record->ret);
	if (record->has_ns)
		json_put_int(out, ",\"ns\":", (int64_t)record->ns);
	buf_puts(out, "}}");
}

/*
 * Writes a call as a slice. A record's time is a little later than the receipt of the call, at which the call's
 * duration begins. So a slice that would overlap the one before it on its track begins at that one's end.
 */
static void perfetto_put_call(struct export_state *export, const struct audit_entry *entry, struct tally_item *item,
			      uint64_t pid, uint64_t track)
{
	const struct perfetto_state *state = export->state;
	const struct scan_record *record = &entry->record;
	struct buf *out = &export->line_buffer;
	uint64_t ns = record->has_ns ? record->ns : 0;
	uint64_t at = entry->time_ns > state->start_ns ? entry->time_ns - state->start_ns : 0;

	/* the record of a connection's end has the duration of the whole connection */
	if (scan_text_equals(&record->event, "close"))
		ns = 0;
	if (at < item->counts[1])
		at = item->counts[1];
	item->counts[1] = at + ns;
	perfetto_begin_event(export, "X", pid, track);
	json_put_microseconds(out, ",\"ts\":", at);
	json_put_microseconds(out, ",\"dur\":", ns);
	buf_puts(out, ",\"cat\":\"");
	buf_puts(out, record->event.at ? "network\"" : "call\"");
	json_put_text(out, ",\"name\":", record_get_call(record));
	perfetto_put_args(out, entry);
	if (!record_is_denied(record))
		return;
	perfetto_begin_event(export, "i", pid, track);
	json_put_microseconds(out, ",\"ts\":", at);
	buf_puts(out, ",\"s\":\"t\",\"cat\":\"denied\",\"name\":\"denied ");
	audit_put_text(out, record_get_call(record));
	buf_puts(out, "\"");
	perfetto_put_args(out, entry);
}

/* Writes a record as an event on the track of its thread or connection. */
static int perfetto_add_entry(struct export_state *export, const struct audit_entry *entry)
{
	struct perfetto_state *state = export->state;
	uint64_t pid, track;
	struct tally_item *item;
	int r;

	if (state->start_ns == 0)
		state->start_ns = entry->time_ns;
	if (entry->json)
		return 0;
	pid = perfetto_get_pid(export, entry);
	r = perfetto_name_process(export, entry, pid);
	item = r == 0 ? perfetto_find_track(export, &entry->record, pid, &track) : NULL;
	if (!item)
		return -ENOMEM;
	perfetto_put_call(export, entry, item, pid, track);
	return export_flush_line(export);
}

static int perfetto_end(struct export_state *export)
{
	const struct perfetto_state *state = export->state;

	buf_printf(&export->line_buffer, "\n],\"otherData\":{\"start_ns\":\"%llu\",\"source\":\"callgate audit\"}}\n",
		   (unsigned long long)state->start_ns);
	return 0;
}

static void perfetto_release(struct export_state *export)
{
	struct perfetto_state *state = export->state;

	if (!state)
		return;
	tally_release(&state->track_of_thread);
	tally_release(&state->programs);
}

const struct export_format export_perfetto = {.name = "perfetto",
					      .begin = perfetto_begin,
					      .entry = perfetto_add_entry,
					      .end = perfetto_end,
					      .release = perfetto_release};
