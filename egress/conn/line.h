/*
 * The egress end of the control socket: a lossless send queue, and the records that wait for an acknowledgement. Used
 * by all of the egress process. While the queue is full nothing is read from programs (conn_pump_mode) or from the
 * supervisor, so that its size stays bounded.
 */
#ifndef CALLGATE_EGRESS_CONN_LINE_H
#define CALLGATE_EGRESS_CONN_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "egress/conn/conn.h"
#include "egress/control.h"

struct control_line;

/* Copies a text (NULL: "") into an array of a record, truncated where it does not fit. */
#define LINE_COPY_TEXT(field, text) line_copy_text(field, sizeof(field), text)
void line_copy_text(char *field, size_t size, const char *text);

#define LINE_QUEUE_LENGTH_STOPS_READING 256  /* queue length at which reading stops */
#define LINE_QUEUE_LENGTH_RESUMES_READING 32  /* queue length at which reading resumes */

/* Callbacks of the line's owner, main.c. */
struct line_callbacks {
	/* a message has arrived; takes fds */
	void (*message)(struct egress *egress, const struct control_message *message, int *fds, size_t fds_count);
	void (*drained)(struct egress *egress); /* the queue was full and has room again */
	void (*gone)(struct egress *egress);    /* called once: the supervisor closed the line or broke the protocol */
};

/* Takes fd on success; all I/O on it uses MSG_DONTWAIT. 0 or -errno. */
int line_create(struct egress *egress, int fd, const struct line_callbacks *events, struct control_line **ret_line);
void line_free(struct control_line *line);

/*
 * Sends a message. 0: sent; 1: queued, so that the supervisor cannot have read it yet; -EPIPE: no supervisor or no
 * memory, which ends the process, because nothing may happen that cannot be recorded.
 */
int line_send_message(struct control_line *line, const struct control_message *message);
bool line_queue_is_full(const struct control_line *line);
bool line_queue_is_empty(const struct control_line *line); /* true if no message is queued */

/* Ends the process as if the supervisor had closed the line. */
void line_report_supervisor_gone(struct control_line *line);

/* Reads pending messages now: a connection can be accepted before its announcement is read. */
void line_read_messages(struct control_line *line);

/*
 * Numbers a record and sends it. If `answer` is set, the supervisor is asked to acknowledge the record (wants_ack), and
 * `answer` is called once from the loop with 0 or -errno, unless line_forget_ack_callbacks is called with that ctx
 * before. 0 or -errno: then the line has failed, which ends the process, and `answer` is not called.
 */
int line_send_record(struct control_line *line, struct control_record *record, void (*answer)(void *ctx, int error),
		     void *ctx, uint64_t *ret_id);
/*
 * Numbers a question and sends it. `answer` is called as that of line_send_record(): with 0 if the request may be
 * forwarded. 0 with *ret_id, or -errno.
 */
int line_send_question(struct control_line *line, struct control_question *question,
		       void (*answer)(void *ctx, int error), void *ctx, uint64_t *ret_id);
void line_forget_ack_callbacks(struct control_line *line, const void *ctx);
/* Handles CONTROL_RECORD_ACK: calls the answer of the acknowledged record or question. */
void line_acknowledge_record(struct control_line *line, const struct control_ack *ack);

#endif
