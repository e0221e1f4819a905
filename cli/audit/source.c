#include "cli/audit/source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "audit/sign.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "cli/audit/time.h"
#include "cli/cli.h"

#define DAMAGED_LINES_REPORTED_MAX 10

/* Says what went wrong with reading a log. */
static const char *source_get_error_text(int error)
{
	switch (error) {
	case -ENOMSG:
		return "this is not an audit log: it does not begin with a header line";
	case -ESPIPE:
		return "not a regular file";
	case -E2BIG:
		return "a line is too long for an audit log";
	case -ELOOP:
		return "the file that its last line names is not the next one of this log";
	case -EMFILE:
		return "too many logs at once; see ulimit -n";
	default:
		return strerror(-error);
	}
}

static void source_end_reading(struct log_source *source, int error)
{
	source->state = SOURCE_ENDED;
	source->error = error;
}

/* Prints that a line is damaged, for the first few such lines of a log. */
static void source_report_damage(struct log_source *source)
{
	if (source->damaged_line_count++ < DAMAGED_LINES_REPORTED_MAX)
		cli_print_error("audit", "%s:%llu: not a line of an audit log: the file was edited or is damaged",
				source->file_path, (unsigned long long)source->line.line_number);
}

/* Keeps what the header says of the log and its run. */
static void source_on_header(struct log_source *source, json_t *header)
{
	const json_t *run = json_object_get(header, "run");
	const char *id = json_is_string(run) ? json_string_value(run) : "";
	size_t len = strnlen(id, AUDIT_RUN_ID_SHOWN_MAX);

	while (len > 0 && ((unsigned char)id[len] & 0xc0) == 0x80)
		len--;
	json_decref(source->log.header);
	source->log.header = json_incref(header);
	source->log_is_compact = json_is_true(json_object_get(header, "compact"));
	source->file_number = (long long)json_integer_value(json_object_get(header, "file"));
	source->log.start_ns = source->entry.time_ns;
	(void)snprintf(source->log.run, sizeof(source->log.run), "%.*s", (int)len, id);
	for (char *c = source->log.run; *c; c++)
		if ((unsigned char)*c <= ' ' || *c == 0x7f || (unsigned char)*c >= 0x80)
			*c = '?'; /* a character that is no hexadecimal digit was not written by callgate */
}

/* Stores the path of the log's next file, which is in the same directory. */
static void source_store_next_file_path(struct log_source *source, const char *name)
{
	const char *slash = strrchr(source->file_path, '/');

	if (!name || !*name || strchr(name, '/'))
		return;
	free(source->next_file);
	source->next_file =
		text_format("%.*s%s", slash ? (int)(slash + 1 - source->file_path) : 0, source->file_path, name);
}

/* Handles the trailer, whose JSON is in line.json. */
static void source_on_trailer(struct log_source *source)
{
	const char *type = audit_line_get_type(source->line.json), *time;

	time = json_string_value(json_object_get(source->line.json, "time"));
	source->entry.json = source->line.json;
	source->entry.time_ns = time ? audit_parse_time(time, strlen(time)) : 0;
	if (strcmp(type, "header") == 0)
		source_on_header(source, source->line.json);
	else if (strcmp(type, "trailer") == 0)
		source->follow.has_trailer = true;
	else if (strcmp(type, "next") == 0)
		source_store_next_file_path(source, json_string_value(json_object_get(source->line.json, "next")));
}

/* Sets the text of the entry, as it is in the log or as it was expanded. */
static void source_set_text(struct log_source *source, const char *text, size_t len)
{
	source->entry.json_text = text;
	source->entry.len = len;
}

/* Parses a line that scan_parse_line_fast does not accept. 0, or -EBADMSG: the text is no line of a log. */
static int source_parse_line(struct log_source *source)
{
	struct audit_entry *entry = &source->entry;

	if (audit_reader_parse_line(source->reader, &source->line) < 0)
		return -EBADMSG;
	if (!source->line.has_expanded_fields && scan_line_is_valid_json_text(source->line.text, source->line.len)) {
		if (strcmp(audit_line_get_type(source->line.json), "record") != 0) {
			source_on_trailer(source);
			return 0;
		}
		/* a second try: at the first one, the writer of the log was just storing the outcome */
		if (scan_parse_line_fast(entry->json_text, entry->len, &entry->record) == 0)
			return 0;
	}
	free(source->buffer);
	source->buffer = json_dumps(source->line.json, JSON_COMPACT);
	if (!source->buffer)
		return -ENOMEM;
	source_set_text(source, source->buffer, strlen(source->buffer));
	if (strcmp(audit_line_get_type(source->line.json), "record") != 0) {
		source_on_trailer(source);
		return 0;
	}
	return scan_parse_line_fast(entry->json_text, entry->len, &entry->record);
}

/* Parses `line` into `entry`. 0, or -EBADMSG: the text is no line of a log. */
static int source_read_line(struct log_source *source)
{
	struct audit_entry *entry = &source->entry;
	int r;

	entry->json = NULL;
	source_set_text(source, source->line.text, source->line.len);
	if (source->log_is_compact || source->line.line_number == 1 ||
	    !scan_line_is_valid_json_text(entry->json_text, entry->len) ||
	    scan_parse_line_fast(entry->json_text, entry->len, &entry->record) < 0 || entry->record.line_type.at) {
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

/* Whether to wait a little before a record is shown: in a followed log, once for each call that has not returned. */
static bool source_waits_for_outcome(struct log_source *source)
{
	const struct audit_entry *entry = &source->entry;

	if (!source->follow.following_is_requested || entry->json || entry->record.has_ns ||
	    source->outcome_awaited_line_number == source->line.line_number)
		return false;
	source->outcome_awaited_line_number = source->line.line_number;
	audit_reader_seek(source->reader, source->line.offset, source->line.line_number);
	return true;
}

/*
 * Whether to wait before the trailer is shown: in a followed log, until it is signed. Where no process is left that
 * could sign it, it is read once more, because it may have been signed since it was read.
 */
static bool source_waits_for_signature(struct log_source *source)
{
	if (!source->follow.following_is_requested || !source->follow.has_trailer ||
	    !sign_trailer_is_unsigned(source->line.text, source->line.len) || source->last_wait_for_signature_was_begun)
		return false;
	source->last_wait_for_signature_was_begun = !follow_has_writer(audit_reader_get_fd(source->reader));
	source->awaits_signature = true;
	source->follow.has_trailer = false;
	audit_reader_seek(source->reader, source->line.offset, source->line.line_number);
	return true;
}

/* Whether the command line names this file: then the file is read as a log of its own. */
static bool source_file_is_named_by_user(const struct log_source *source, const char *path)
{
	struct stat file, other;

	if (stat(path, &file) < 0)
		return false;
	for (size_t i = 0; source->paths[i]; i++)
		if (stat(source->paths[i], &other) == 0 && file.st_ino == other.st_ino && file.st_dev == other.st_dev)
			return true;
	return false;
}

/* Continues the log in another file. Takes reader and path. */
static void source_change_file(struct log_source *source, struct audit_reader *reader, char *path)
{
	audit_reader_free(source->reader);
	free(source->file_path);
	source->reader = reader;
	source->file_path = path;
	source->outcome_awaited_line_number = 0;
	source->last_wait_for_signature_was_begun = false;
}

/* Opens the file that the last line names. 1: opened; 0: that file is read as another log; or -errno. */
static int source_open_next_file(struct log_source *source)
{
	_cleanup_free_ char *path = steal_pointer(&source->next_file);
	struct audit_reader *reader;
	int r;

	if (source_file_is_named_by_user(source, path))
		return 0;
	r = audit_reader_open(path, &reader);
	if (r < 0) {
		cli_print_error("audit", "%s goes on in %s: %s", source->file_path, path, strerror(-r));
		return r;
	}
	source_change_file(source, reader, steal_pointer(&path));
	return 1;
}

/*
 * Reads the header of a log's next file. Its file number must be higher than the file number before: the files of an
 * edited log could form a circle.
 */
static void source_begin_next_file(struct log_source *source)
{
	long long number = source->file_number;

	source_read_next_entry(source);
	if (source->state == SOURCE_HAS_ENTRY && source->file_number <= number)
		source_end_reading(source, -ELOOP);
}

/* Sets the state after the last line: waiting, if the log is followed, or ended. */
static void source_set_end_state(struct log_source *source)
{
	uint64_t torn = audit_reader_get_torn_bytes(source->reader);
	int r = source->next_file ? source_open_next_file(source) : 0;

	if (r > 0)
		source_begin_next_file(source);
	if (r < 0)
		source_end_reading(source, -ECANCELED);
	if (r != 0)
		return;
	if (source->follow.following_is_requested && !source->follow.has_trailer && !source->follow.writer_is_gone) {
		audit_reader_seek(source->reader, source->line.offset, source->line.line_number);
		source->state = SOURCE_WAITING;
		return;
	}
	source_end_reading(source, source->line.line_number == 1 ? -ENOMSG : 0);
	if (torn > 0 && source->error == 0)
		cli_print_error("audit",
				"%s: %llu bytes at the end are no whole line: the writer was killed in the middle of a "
				"record, whose call was never carried out",
				source->file_path, (unsigned long long)torn);
}

void source_read_next_entry(struct log_source *source)
{
	int r;

	source->state = SOURCE_HAS_ENTRY;
	source->awaits_signature = false;
	while ((r = audit_reader_read_unparsed(source->reader, &source->line)) == 1) {
		r = source_read_line(source);
		if (r == -ENOMEM)
			break;
		if (source->line.line_number == 1 &&
		    (r < 0 || strcmp(audit_line_get_type(source->line.json), "header") != 0)) {
			source_end_reading(source, -ENOMSG);
			return;
		}
		if (r == 0 && (source_waits_for_outcome(source) || source_waits_for_signature(source))) {
			source->state = SOURCE_WAITING;
			return;
		}
		if (r == 0)
			return;
		source_report_damage(source);
	}
	if (r == 0)
		source_set_end_state(source);
	else
		source_end_reading(source, r);
}

void source_open(struct log_source *source, const struct audit_reading *reading, size_t index)
{
	const char *path = reading->paths[index];
	int r;

	*source = (struct log_source){.log = {.path = path, .index = index},
				      .follow = {.following_is_requested = reading->follows_growing_logs},
				      .paths = reading->paths,
				      .file_path = strdup(path)};
	source->entry.log = &source->log;
	r = source->file_path ? audit_reader_open(path, &source->reader) : -ENOMEM;
	if (r < 0)
		source_end_reading(source, r);
	else
		source_read_next_entry(source);
}

void source_read_after_wait(struct log_source *source)
{
	struct audit_reader *next;

	source_read_next_entry(source);
	if (source->state != SOURCE_WAITING || source->awaits_signature)
		return;
	next = follow_check_log(&source->follow, source->file_path, audit_reader_get_fd(source->reader));
	if (next) {
		source_read_next_entry(source); /* reads the lines that were written before the file was renamed */
		if (source->state != SOURCE_WAITING) {
			audit_reader_free(next);
			return;
		}
		source_change_file(source, next, strdup(source->file_path));
		if (!source->file_path)
			source_end_reading(source, -ENOMEM);
		else
			source_read_next_entry(source);
	} else if (source->follow.writer_is_gone) {
		source_read_next_entry(source);
	}
}

int source_close(struct log_source *source)
{
	if (source->error < 0 && source->error != -ECANCELED) /* -ECANCELED: the error was reported before */
		cli_print_error("audit", "%s: %s", source->log.path, source_get_error_text(source->error));
	else if (source->damaged_line_count > DAMAGED_LINES_REPORTED_MAX)
		cli_print_error("audit", "%s: %llu damaged lines altogether", source->log.path,
				(unsigned long long)source->damaged_line_count);
	audit_reader_free(source->reader);
	json_decref(source->log.header);
	free(source->buffer);
	free(source->file_path);
	free(source->next_file);
	return source->error < 0 || source->damaged_line_count > 0 ? CLI_EXIT_ERROR : CLI_EXIT_OK;
}
