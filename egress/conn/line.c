#include "egress/conn/line.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "egress/state.h"

#define LINE_MESSAGES_PER_LOOP_ROUND_MAX 64 /* messages read in one round of the loop */

/* A message that waits for room in the control socket. */
struct line_queued_message {
	struct line_queued_message *next;
	struct control_message message; /* allocated only up to control_get_message_size() */
};

/* What to call when the supervisor has acknowledged a record. */
struct line_ack_callback {
	struct line_ack_callback *next;
	uint64_t id;
	void (*answer)(void *ctx, int error);
	void *ctx;
};

/* Egress's end of the control socket, with the messages that wait for room. */
struct control_line {
	struct egress *egress;
	struct watch watch;
	struct line_callbacks callbacks;
	struct line_queued_message *first, **end;
	size_t queued_count; /* messages that wait for room in the socket */
	bool full, gone;
	uint64_t last_record_id;                          /* id of the last record that was sent or queued */
	struct line_ack_callback *waiting, **waiting_end; /* sorted by id, as the supervisor acknowledges */
};

static void line_on_ready(struct watch *watch);

int line_create(struct egress *egress, int fd, const struct line_callbacks *events, struct control_line **ret_line)
{
	struct control_line *line = calloc(1, sizeof(*line));
	int error;

	if (!line)
		return -ENOMEM;
	line->egress = egress;
	line->callbacks = *events;
	line->end = &line->first;
	line->waiting_end = &line->waiting;
	line->watch = (struct watch){.fd = fd, .ready = line_on_ready};
	error = loop_add_watch(egress->loop, &line->watch, EPOLLIN);
	if (error < 0)
		free(line);
	else
		*ret_line = line;
	return error;
}

void line_free(struct control_line *line)
{
	if (!line)
		return;
	loop_close_watch(line->egress->loop, &line->watch);
	while (line->first) {
		struct line_queued_message *next = line->first->next;

		free(line->first);
		line->first = next;
	}
	while (line->waiting) {
		struct line_ack_callback *next = line->waiting->next;

		free(line->waiting);
		line->waiting = next;
	}
	free(line);
}

bool line_queue_is_full(const struct control_line *line)
{
	return line->full;
}

bool line_queue_is_empty(const struct control_line *line)
{
	return !line->first;
}

void line_report_supervisor_gone(struct control_line *line)
{
	if (line->gone)
		return;
	line->gone = true;
	loop_set_interest(line->egress->loop, &line->watch, 0);
	line->callbacks.gone(line->egress);
}

/* Sets what to wait for. A full queue stops reading, because each message read may add messages to send. */
static void line_update_watch(struct control_line *line)
{
	if (!line->gone)
		loop_set_interest(line->egress->loop, &line->watch,
				  (line->full ? 0 : (unsigned)EPOLLIN) | (line->first ? (unsigned)EPOLLOUT : 0));
}

/* Appends a message that the socket has no room for. 1, or -EPIPE if memory ran out, which ends egress. */
static int line_queue_message(struct control_line *line, const struct control_message *message)
{
	size_t size = control_get_message_size((enum control_type)message->type);
	struct line_queued_message *entry = malloc(offsetof(struct line_queued_message, message) + size);

	if (!entry) {
		line_report_supervisor_gone(line);
		return -EPIPE;
	}
	entry->next = NULL;
	memcpy((void *)&entry->message, message, size);
	*line->end = entry;
	line->end = &entry->next;
	if (++line->queued_count >= LINE_QUEUE_LENGTH_STOPS_READING)
		line->full = true;
	line_update_watch(line);
	return 1;
}

int line_send_message(struct control_line *line, const struct control_message *message)
{
	int error;

	if (line->gone)
		return -EPIPE;
	if (line->first)
		return line_queue_message(line, message);
	error = control_send_message(line->watch.fd, message, NULL, 0);
	if (error == 0)
		return 0;
	if (error == -EAGAIN || error == -ENOBUFS || error == -ENOMEM)
		return line_queue_message(line, message);
	line_report_supervisor_gone(line);
	return -EPIPE;
}

/* Sends queued messages as far as the socket has room. Those who waited for room are told. */
static void line_flush_queue(struct control_line *line)
{
	while (line->first) {
		struct line_queued_message *entry = line->first;
		int error = control_send_message(line->watch.fd, &entry->message, NULL, 0);

		if (error == -EAGAIN || error == -ENOBUFS || error == -ENOMEM)
			break;
		if (error < 0) {
			line_report_supervisor_gone(line);
			return;
		}
		line->first = entry->next;
		if (!line->first)
			line->end = &line->first;
		free(entry);
		line->queued_count--;
	}
	if (line->full && line->queued_count <= LINE_QUEUE_LENGTH_RESUMES_READING) {
		line->full = false;
		line->callbacks.drained(line->egress);
	}
	line_update_watch(line);
}

void line_read_messages(struct control_line *line)
{
	for (int n = 0; n < LINE_MESSAGES_PER_LOOP_ROUND_MAX && !line->gone && !line->full; n++) {
		struct control_message message;
		int fds[CONTROL_FDS_MAX], error;
		size_t count;

		error = control_receive_message(line->watch.fd, &message, fds, &count);
		if (error == -EAGAIN)
			return;
		if (error < 0) {
			line_report_supervisor_gone(line);
			return;
		}
		line->callbacks.message(line->egress, &message, fds, count);
	}
}

static void line_on_ready(struct watch *watch)
{
	struct control_line *line = container_of(watch, struct control_line, watch);

	line_flush_queue(line);
	line_read_messages(line);
}

/* Copies a text, cut off if it is too long. NULL: an empty one. */
void line_copy_text(char *field, size_t size, const char *text)
{
	(void)snprintf(field, size, "%s", text ? text : "");
}

/* Lets `answer` be called for the record or question of this id. 0 or -ENOMEM, which ends egress. */
static int line_add_ack_callback(struct control_line *line, uint64_t id, void (*answer)(void *ctx, int error),
				 void *ctx)
{
	struct line_ack_callback *waiting = malloc(sizeof(*waiting));

	if (!waiting) {
		line_report_supervisor_gone(line);
		return -ENOMEM;
	}
	*waiting = (struct line_ack_callback){.id = id, .answer = answer, .ctx = ctx};
	*line->waiting_end = waiting;
	line->waiting_end = &waiting->next;
	return 0;
}

int line_send_record(struct control_line *line, struct control_record *record, void (*answer)(void *ctx, int error),
		     void *ctx, uint64_t *ret_id)
{
	struct control_message message = {.version = CONTROL_VERSION, .type = CONTROL_RECORD};
	int error = 0;

	record->id = ++line->last_record_id;
	record->wants_ack = answer != NULL;
	if (answer)
		error = line_add_ack_callback(line, record->id, answer, ctx);
	if (error < 0)
		return error;
	message.record = *record;
	error = line_send_message(line, &message);
	if (error < 0)
		return error;
	if (ret_id)
		*ret_id = record->id;
	return 0;
}

int line_send_question(struct control_line *line, struct control_question *question,
		       void (*answer)(void *ctx, int error), void *ctx, uint64_t *ret_id)
{
	struct control_message message = {.version = CONTROL_VERSION, .type = CONTROL_QUESTION};
	int error;

	question->id = ++line->last_record_id;
	error = line_add_ack_callback(line, question->id, answer, ctx);
	if (error < 0)
		return error;
	message.question = *question;
	error = line_send_message(line, &message);
	if (error < 0)
		return error;
	*ret_id = question->id;
	return 0;
}

/* Removes a callback from the list of those that wait for an acknowledgement. */
static void line_drop_ack_callback(struct control_line *line, struct line_ack_callback **slot)
{
	struct line_ack_callback *waiting = *slot;

	*slot = waiting->next;
	if (!waiting->next)
		line->waiting_end = slot;
	free(waiting);
}

/* Drops the callbacks with this ctx, which must not be called any more. */
void line_forget_ack_callbacks(struct control_line *line, const void *ctx)
{
	for (struct line_ack_callback **slot = &line->waiting; *slot;) {
		if ((*slot)->ctx == ctx)
			line_drop_ack_callback(line, slot);
		else
			slot = &(*slot)->next;
	}
}

void line_acknowledge_record(struct control_line *line, const struct control_ack *ack)
{
	struct line_ack_callback **slot = &line->waiting, waiting;

	while (*slot && (*slot)->id != ack->id)
		slot = &(*slot)->next;
	if (!*slot)
		return;
	waiting = **slot;
	line_drop_ack_callback(line, slot);
	waiting.answer(waiting.ctx, ack->error);
}
