#include "replay/log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"

#define LOG_ROTATED_FILES_MAX 100000u /* limits a circle of files that name each other as the next file */

/* The state of reading a log for a replay. */
struct replay_log_walk {
	const struct replay_reader *reader;
	struct replay_log_state *state;
	struct audit_reader *line_reader;
	char *buffer; /* owned; room for a line that scan_line_else_parse_json() rewrites */
	struct verify verify; /* not used when damage is allowed */
	char *next_path;      /* owned; the path of the file in which the log goes on; NULL: none */
	bool is_later_file;   /* the file is not the log's first */
	uint64_t next_seq;    /* number that the next line should have */
	bool has_trailer; /* a trailer was read */
};

/* Counts damage, and keeps the first. 0, or -EBADMSG if the reader accepts no damaged logs. */
static int log_count_damage(struct replay_log_walk *walk, uint64_t line, const char *what)
{
	if (walk->state->damage_count++ == 0) {
		walk->state->first_damaged_line = line;
		(void)snprintf(walk->state->first_damage, sizeof(walk->state->first_damage), "%s", what);
	}
	return walk->reader->allows_damage ? 0 : -EBADMSG;
}

/* Passes the header of the log's first file to the reader. -ENOMSG: the line is no header. */
static int log_pass_header_to_reader(struct replay_log_walk *walk, struct audit_line *line)
{
	if (audit_reader_parse_line(walk->line_reader, line) < 0 ||
	    strcmp(audit_line_get_type(line->json), "header") != 0)
		return -ENOMSG;
	if (walk->is_later_file)
		return 0;
	walk->next_seq = 1;
	return walk->reader->header ? walk->reader->header(walk->reader->ctx, line->json) : 0;
}

/* Checks by the sequence number that no line before this one is missing. log_check_chain() finds changed lines. */
static int log_check_order(struct replay_log_walk *walk, const struct audit_line *line,
			   const struct scan_record *record)
{
	uint64_t wanted = walk->next_seq;

	walk->next_seq = record->seq + 1;
	if (walk->has_trailer)
		return log_count_damage(walk, line->line_number, "a line behind the trailer");
	return record->seq == wanted
		       ? 0
		       : log_count_damage(walk, line->line_number, "records are missing before this line");
}

/* Stores the path of the log's next file, which is in the same directory. */
static int log_store_next_file(struct replay_log_walk *walk, struct audit_line *line)
{
	const char *path = walk->reader->path, *slash = strrchr(path, '/'), *name;

	if (audit_reader_parse_line(walk->line_reader, line) < 0)
		return log_count_damage(walk, line->line_number, "not a line of an audit log");
	name = json_string_value(json_object_get(line->json, "next"));
	if (!name || !*name || strchr(name, '/'))
		return log_count_damage(walk, line->line_number, "not a line of an audit log");
	free(walk->next_path);
	walk->next_path = text_format("%.*s%s", slash ? (int)(slash + 1 - path) : 0, path, name);
	return walk->next_path ? 0 : -ENOMEM;
}

/* Passes a record to the reader, or keeps what a line about the log says. 0 or -errno. */
static int log_pass_record_to_reader(struct replay_log_walk *walk, struct audit_line *line)
{
	struct scan_record record;
	int r = scan_line_else_parse_json(walk->line_reader, line, &walk->buffer, &record);

	if (r == 1 || r == -EBADMSG)
		return log_count_damage(walk, line->line_number, "not a line of an audit log");
	if (r == 0)
		r = log_check_order(walk, line, &record);
	if (r < 0)
		return r;
	if (scan_text_equals(&record.line_type, "next"))
		return log_store_next_file(walk, line);
	if (record.line_type.at) {
		walk->has_trailer = scan_text_equals(&record.line_type, "trailer");
		return walk->has_trailer ? 0 : log_count_damage(walk, line->line_number, "a second header");
	}
	walk->state->record_count++;
	r = walk->reader->record ? walk->reader->record(walk->reader->ctx, &record) : 0;
	return r == -EBADMSG ? log_count_damage(walk, line->line_number, "a record without its fields") : r;
}

/* Counts it as damage if the log ends in an incomplete line or without a trailer. 0 or -EBADMSG. */
static int log_check_for_complete_end(struct replay_log_walk *walk, uint64_t line)
{
	if (audit_reader_get_torn_bytes(walk->line_reader) > 0)
		return log_count_damage(walk, line, "the last line is incomplete");
	return walk->has_trailer ? 0
				 : log_count_damage(walk, line, "there is no trailer: the run goes on, or was killed");
}

/* Counts a broken hash chain as damage, described as by `callgate audit verify`. */
static int log_check_chain(struct replay_log_walk *walk)
{
	struct verify_finding finding;
	char text[VERIFY_FINDING_TEXT_SIZE];
	uint64_t tail;

	if (walk->reader->allows_damage)
		return 0;
	finding = verify_get_finding(&walk->verify, NULL, &tail);
	if (finding.kind == VERIFY_INTACT)
		return 0;
	verify_describe_finding(&finding, text);
	return log_count_damage(walk, finding.place.line_number, text);
}

/* Passes a line to the reader. Without allows_damage, its hash is checked, too. 0 or -errno. */
static int log_pass_line_to_reader(struct replay_log_walk *walk, struct audit_line *line)
{
	/* + 1: the newline follows the text */
	int r = walk->reader->allows_damage ? 0 : verify_add_line(&walk->verify, line->text, line->len + 1);

	if (r < 0)
		return r;
	return line->line_number == 1 ? log_pass_header_to_reader(walk, line) : log_pass_record_to_reader(walk, line);
}

/* Reads one file of the log, and passes its lines on. 0 or -errno. */
static int log_read_file(struct replay_log_walk *walk, const char *path)
{
	struct audit_line line;
	int r = audit_reader_open(path, &walk->line_reader);

	if (r < 0)
		return r;
	verify_begin_file(&walk->verify);
	while (r == 0 && (r = audit_reader_read_unparsed(walk->line_reader, &line)) == 1)
		r = log_pass_line_to_reader(walk, &line);
	if (r == 0 && line.line_number == 1)
		r = -ENOMSG;
	if (r == 0 && !walk->next_path)
		r = log_check_for_complete_end(walk, line.line_number);
	verify_end_file(&walk->verify, audit_reader_get_torn_bytes(walk->line_reader));
	audit_reader_free(walk->line_reader);
	return r;
}

int replay_read_log(const struct replay_reader *reader, struct replay_log_state *ret_state)
{
	struct replay_log_walk walk = {.reader = reader, .state = ret_state};
	int r;

	*ret_state = (struct replay_log_state){0};
	verify_init(&walk.verify);
	r = log_read_file(&walk, reader->path);
	for (unsigned files = 1; r == 0 && walk.next_path && files < LOG_ROTATED_FILES_MAX; files++) {
		_cleanup_free_ char *path = steal_pointer(&walk.next_path);

		walk.is_later_file = true;
		r = log_read_file(&walk, path);
		if (r == -ENOENT)
			r = log_count_damage(&walk, 1, "the file in which the log goes on is missing");
	}
	if (r == 0)
		r = log_check_chain(&walk);
	verify_release(&walk.verify);
	free(walk.next_path);
	free(walk.buffer);
	return r;
}
