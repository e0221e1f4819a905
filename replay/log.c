#include "replay/log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

struct log_walk {
	const struct replay_reader *reader;
	struct replay_log_state *state;
	struct audit_reader *lines;
	char *buffer; /* owned; room for a line that scan_line_or_parse() writes anew */
	uint64_t next_seq;
	bool ended; /* a trailer was read */
};

static int log_note_damage(struct log_walk *walk, uint64_t line, const char *what)
{
	if (walk->state->damages++ == 0) {
		walk->state->line = line;
		walk->state->damage = what;
	}
	return walk->reader->allow_damaged ? 0 : -EBADMSG;
}

static int log_take_header(struct log_walk *walk, struct audit_line *line)
{
	if (audit_reader_parse_line(walk->lines, line) < 0 || strcmp(audit_line_get_type(line->json), "header") != 0)
		return -ENOMSG;
	walk->next_seq = 1;
	return walk->reader->header ? walk->reader->header(walk->reader->ctx, line->json) : 0;
}

/* A lost line shows in the sequence numbers of the lines after it. Lines that were changed are not found here. */
static int log_check_order(struct log_walk *walk, const struct audit_line *line, const struct scan_record *record)
{
	uint64_t wanted = walk->next_seq;

	walk->next_seq = record->seq + 1;
	if (walk->ended)
		return log_note_damage(walk, line->number, "a line behind the trailer");
	return record->seq == wanted ? 0 : log_note_damage(walk, line->number, "records are missing before this line");
}

static int log_take_record(struct log_walk *walk, struct audit_line *line)
{
	struct scan_record record;
	int r = scan_line_or_parse(walk->lines, line, &walk->buffer, &record);

	if (r == 1 || r == -EBADMSG)
		return log_note_damage(walk, line->number, "not a line of an audit log");
	if (r == 0)
		r = log_check_order(walk, line, &record);
	if (r < 0)
		return r;
	if (record.type.at) {
		walk->ended = scan_text_is(&record.type, "trailer");
		return walk->ended ? 0 : log_note_damage(walk, line->number, "a second header");
	}
	walk->state->records++;
	r = walk->reader->record ? walk->reader->record(walk->reader->ctx, &record) : 0;
	return r == -EBADMSG ? log_note_damage(walk, line->number, "a record without its fields") : r;
}

static int log_check_end(struct log_walk *walk, uint64_t line)
{
	if (audit_reader_get_torn_bytes(walk->lines) > 0)
		return log_note_damage(walk, line, "the last line is incomplete");
	return walk->ended ? 0 : log_note_damage(walk, line, "there is no trailer: the run goes on, or was killed");
}

int replay_read_log(const struct replay_reader *reader, struct replay_log_state *ret_state)
{
	struct log_walk walk = {.reader = reader, .state = ret_state};
	struct audit_line line;
	int r;

	*ret_state = (struct replay_log_state){0};
	r = audit_reader_open(reader->path, &walk.lines);
	if (r < 0)
		return r;
	while (r == 0 && (r = audit_reader_read_text(walk.lines, &line)) == 1)
		r = line.number == 1 ? log_take_header(&walk, &line) : log_take_record(&walk, &line);
	if (r == 0)
		r = line.number == 1 ? -ENOMSG : log_check_end(&walk, line.number);
	free(walk.buffer);
	audit_reader_free(walk.lines);
	return r;
}
