#include "cli/audit/logs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "cli/audit/follow.h"
#include "cli/audit/time.h"
#include "cli/cli.h"

#define DAMAGED_LINES_REPORTED_MAX 10
#define IDLE_NS (100 * 1000 * 1000)

enum source_state {
	SOURCE_READING, /* `entry` is the next line */
	SOURCE_WAITING, /* followed: there is no further line yet */
	SOURCE_ENDED,
};

struct source {
	struct audit_log log;
	struct audit_reader *reader; /* owned */
	struct audit_entry entry;
	struct audit_line line;
	char *buffer; /* owned: the text of a line that was written anew */
	enum source_state state;
	bool compact;
	uint64_t held; /* followed: number of the line whose outcome was waited for; lines begin with 1 */
	struct follow follow;
	uint64_t damaged;
	int error; /* -errno: reading failed */
};

struct merge {
	const struct audit_reading *reading;
	struct source *source; /* owned */
	size_t sources;
	size_t *heap; /* owned: indices of the sources in state SOURCE_READING, the earliest first */
	size_t in_heap;
};

/* ---- one log ---- */

static const char *source_get_error_text(int error)
{
	switch (error) {
	case -ENOMSG:
		return "this is not an audit log: it does not begin with a header line";
	case -ESPIPE:
		return "not a regular file";
	case -E2BIG:
		return "a line is too long for an audit log";
	case -EMFILE:
		return "too many logs at once; see ulimit -n";
	default:
		return strerror(-error);
	}
}

static void source_end(struct source *source, int error)
{
	source->state = SOURCE_ENDED;
	source->error = error;
}

static void source_report_damage(struct source *source)
{
	if (source->damaged++ < DAMAGED_LINES_REPORTED_MAX)
		cli_print_error("audit", "%s:%llu: not a line of an audit log: the file was edited or is damaged",
				source->log.path, (unsigned long long)source->line.number);
}

static void source_take_header(struct source *source, json_t *header)
{
	const json_t *run = json_object_get(header, "run");
	const char *id = json_is_string(run) ? json_string_value(run) : "";
	size_t len = strnlen(id, AUDIT_RUN_SHOWN_MAX);

	while (len > 0 && ((unsigned char)id[len] & 0xc0) == 0x80)
		len--;
	json_decref(source->log.header);
	source->log.header = json_incref(header);
	source->compact = json_is_true(json_object_get(header, "compact"));
	source->log.start_ns = source->entry.time_ns;
	(void)snprintf(source->log.run, sizeof(source->log.run), "%.*s", (int)len, id);
	for (char *c = source->log.run; *c; c++)
		if ((unsigned char)*c <= ' ' || *c == 0x7f || (unsigned char)*c >= 0x80)
			*c = '?'; /* callgate writes hexadecimal digits */
}

/* Takes a header or trailer, whose JSON is in line.json. */
static void source_take_end(struct source *source)
{
	const char *type = audit_line_get_type(source->line.json), *time;

	time = json_string_value(json_object_get(source->line.json, "time"));
	source->entry.json = source->line.json;
	source->entry.time_ns = time ? audit_parse_time(time, strlen(time)) : 0;
	if (strcmp(type, "header") == 0)
		source_take_header(source, source->line.json);
	else if (strcmp(type, "trailer") == 0)
		source->follow.ended = true;
}

static void source_set_text(struct source *source, const char *text, size_t len)
{
	source->entry.text = text;
	source->entry.len = len;
}

/* Takes a line that scan_line does not read as it is. 0, or -EBADMSG: no line of a log. */
static int source_parse_line(struct source *source)
{
	struct audit_entry *entry = &source->entry;

	if (audit_reader_parse_line(source->reader, &source->line) < 0)
		return -EBADMSG;
	free(source->buffer);
	source->buffer = json_dumps(source->line.json, JSON_COMPACT);
	if (!source->buffer)
		return -ENOMEM;
	source_set_text(source, source->buffer, strlen(source->buffer));
	if (strcmp(audit_line_get_type(source->line.json), "record") != 0) {
		source_take_end(source);
		return 0;
	}
	return scan_line(entry->text, entry->len, &entry->record);
}

/* Makes `entry` from `line`. 0, or -EBADMSG: no line of a log. */
static int source_take_line(struct source *source)
{
	struct audit_entry *entry = &source->entry;
	int r;

	entry->json = NULL;
	source_set_text(source, source->line.text, source->line.len);
	if (source->compact || source->line.number == 1 || !scan_line_is_sound(entry->text, entry->len) ||
	    scan_line(entry->text, entry->len, &entry->record) < 0 || entry->record.type.at) {
		r = source_parse_line(source);
		if (r < 0)
			return r;
	}
	if (!entry->json)
		entry->time_ns = entry->record.time.at
					 ? audit_parse_time(entry->record.time.at, entry->record.time.len)
					 : 0;
	return 0;
}

/* Followed: a call that is under way gets a little time to get its outcome, before its record is shown without it. */
static bool source_holds_line(struct source *source)
{
	const struct audit_entry *entry = &source->entry;

	if (!source->follow.wanted || entry->json || entry->record.has_ns || source->held == source->line.number)
		return false;
	source->held = source->line.number;
	audit_reader_seek(source->reader, source->line.offset, source->line.number);
	return true;
}

/* The log has no further line now. */
static void source_reach_end(struct source *source)
{
	uint64_t torn = audit_reader_get_torn_bytes(source->reader);

	if (source->follow.wanted && !source->follow.ended && !source->follow.abandoned) {
		audit_reader_seek(source->reader, source->line.offset, source->line.number);
		source->state = SOURCE_WAITING;
		return;
	}
	source_end(source, source->line.number == 1 ? -ENOMSG : 0);
	if (torn > 0 && source->error == 0)
		cli_print_error("audit",
				"%s: %llu bytes at the end are no whole line: the writer was killed in the middle of a "
				"record, whose call was never carried out",
				source->log.path, (unsigned long long)torn);
}

/* Reads the next line of a log into `entry`, or sets another state. */
static void source_advance(struct source *source)
{
	int r;

	source->state = SOURCE_READING;
	while ((r = audit_reader_read_text(source->reader, &source->line)) == 1) {
		r = source_take_line(source);
		if (r == -ENOMEM)
			break;
		if (source->line.number == 1 &&
		    (r < 0 || strcmp(audit_line_get_type(source->line.json), "header") != 0)) {
			source_end(source, -ENOMSG);
			return;
		}
		if (r == 0 && source_holds_line(source)) {
			source->state = SOURCE_WAITING;
			return;
		}
		if (r == 0)
			return;
		source_report_damage(source);
	}
	if (r == 0)
		source_reach_end(source);
	else
		source_end(source, r);
}

static void source_open(struct source *source, const char *path, size_t index, bool follow)
{
	int r;

	*source = (struct source){.log = {.path = path, .index = index}, .follow = {.wanted = follow}};
	source->entry.log = &source->log;
	r = audit_reader_open(path, &source->reader);
	if (r < 0)
		source_end(source, r);
	else
		source_advance(source);
}

/* Reads on in a log that is followed, or in the file that has taken its name. */
static void source_resume(struct source *source)
{
	struct audit_reader *next;

	source_advance(source);
	if (source->state != SOURCE_WAITING)
		return;
	next = follow_check_log(&source->follow, source->log.path, audit_reader_get_fd(source->reader));
	if (next) {
		source_advance(source); /* what was written before the file was renamed */
		if (source->state != SOURCE_WAITING) {
			audit_reader_free(next);
			return;
		}
		audit_reader_free(source->reader);
		source->reader = next;
		source->held = 0;
		source_advance(source);
	} else if (source->follow.abandoned) {
		source_advance(source);
	}
}

/* Reports how reading ended. Returns CLI_OK or CLI_ERROR. */
static int source_close(struct source *source)
{
	if (source->error < 0)
		cli_print_error("audit", "%s: %s", source->log.path, source_get_error_text(source->error));
	else if (source->damaged > DAMAGED_LINES_REPORTED_MAX)
		cli_print_error("audit", "%s: %llu damaged lines altogether", source->log.path,
				(unsigned long long)source->damaged);
	audit_reader_free(source->reader);
	json_decref(source->log.header);
	free(source->buffer);
	return source->error < 0 || source->damaged > 0 ? CLI_ERROR : CLI_OK;
}

/* ---- several logs ---- */

static bool merge_is_before(const struct merge *merge, size_t a, size_t b)
{
	const struct source *one = &merge->source[merge->heap[a]], *other = &merge->source[merge->heap[b]];

	if (one->entry.time_ns != other->entry.time_ns)
		return one->entry.time_ns < other->entry.time_ns;
	return one->log.index < other->log.index;
}

static void merge_swap(struct merge *merge, size_t a, size_t b)
{
	size_t index = merge->heap[a];

	merge->heap[a] = merge->heap[b];
	merge->heap[b] = index;
}

static void merge_push(struct merge *merge, size_t index)
{
	size_t at = merge->in_heap++;

	for (merge->heap[at] = index; at > 0 && merge_is_before(merge, at, (at - 1) / 2); at = (at - 1) / 2)
		merge_swap(merge, at, (at - 1) / 2);
}

/* Restores the order after the first source has read another line. */
static void merge_sink(struct merge *merge)
{
	size_t at = 0, child;

	while ((child = 2 * at + 1) < merge->in_heap) {
		if (child + 1 < merge->in_heap && merge_is_before(merge, child + 1, child))
			child++;
		if (!merge_is_before(merge, child, at))
			return;
		merge_swap(merge, at, child);
		at = child;
	}
}

/* Hands on the lines of all logs in order, until none has any now. False: `each` wants no more. */
static bool merge_pass_lines(struct merge *merge)
{
	while (merge->in_heap > 0) {
		struct source *source = &merge->source[merge->heap[0]];

		if (!merge->reading->each(merge->reading->ctx, &source->entry))
			return false;
		source_advance(source);
		if (source->state != SOURCE_READING)
			merge->heap[0] = merge->heap[--merge->in_heap];
		merge_sink(merge);
	}
	return true;
}

/* Waits for further lines. False: there will be none, or nobody wants them. */
static bool merge_wait(struct merge *merge)
{
	const struct timespec pause = {.tv_nsec = IDLE_NS};
	bool waiting = false;

	for (size_t i = 0; i < merge->sources; i++)
		waiting = waiting || merge->source[i].state == SOURCE_WAITING;
	if (!waiting || (merge->reading->idle && !merge->reading->idle(merge->reading->ctx)))
		return false;
	(void)nanosleep(&pause, NULL);
	for (size_t i = 0; i < merge->sources; i++) {
		struct source *source = &merge->source[i];

		if (source->state == SOURCE_WAITING)
			source_resume(source);
		else
			continue;
		if (source->state == SOURCE_READING)
			merge_push(merge, i);
	}
	return true;
}

int audit_read_logs(const struct audit_reading *reading)
{
	struct merge merge = {.reading = reading};
	size_t count = 0;
	int status = CLI_OK;

	while (reading->paths[count])
		count++;
	merge.source = calloc(count + 1, sizeof(*merge.source));
	merge.heap = calloc(count + 1, sizeof(*merge.heap));
	if (!merge.source || !merge.heap) {
		free(merge.source);
		free(merge.heap);
		return cli_fail_no_memory("audit");
	}
	for (; merge.sources < count; merge.sources++) {
		source_open(&merge.source[merge.sources], reading->paths[merge.sources], merge.sources,
			    reading->follow);
		if (merge.source[merge.sources].state == SOURCE_READING)
			merge_push(&merge, merge.sources);
	}
	while (merge_pass_lines(&merge) && merge_wait(&merge))
		;
	for (size_t i = 0; i < merge.sources; i++)
		if (source_close(&merge.source[i]) != CLI_OK)
			status = CLI_ERROR;
	free(merge.source);
	free(merge.heap);
	return status;
}
