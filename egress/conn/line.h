/*
 * Egress' end of the control socket: a queue towards the supervisor that loses nothing, and the records whose answer is
 * waited for. While it is full nothing new is read from programs (conn_pump) nor from the supervisor, so it stays bounded.
 */
#ifndef CALLGATE_EGRESS_CONN_LINE_H
#define CALLGATE_EGRESS_CONN_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "egress/conn/conn.h"
#include "egress/control.h"

struct control_line;

#define LINE_FULL 256  /* messages queued from which on nothing new is begun */
#define LINE_EMPTY 32  /* and at which it goes on */

/* What the line tells its owner of. */
struct line_events {
	void (*message)(struct egress *egress, const struct control_message *message, int *fds, size_t fds_count); /* takes fds */
	void (*drained)(struct egress *egress); /* it was full and is no more */
	void (*gone)(struct egress *egress);    /* the supervisor has closed it, or broken the protocol. Once */
};

/* Takes fd, which is non-blocking or not: nothing here waits. 0 or -errno. */
int line_create(struct egress *egress, int fd, const struct line_events *events, struct control_line **ret_line);
void line_free(struct control_line *line);

/*
 * 0: it is in the socket; 1: it is queued and will be (what must not happen before the supervisor can read it has to wait);
 * -EPIPE: there is no supervisor any more, or no memory to queue with, which ends the process as well: what cannot be
 * told must not happen.
 */
int line_send(struct control_line *line, const struct control_message *message);
bool line_full(const struct control_line *line);
bool line_idle(const struct control_line *line); /* nothing queued */

/* Ends it as if the supervisor had gone: the process cannot keep its part. */
void line_fail(struct control_line *line);

/* Reads what has come now. For the listener, whose connection may be faster than its announcement. */
void line_read(struct control_line *line);

/*
 * Gives the record its number and sends it. With answer (wants_ack) that is called once from the loop, error 0 or -errno,
 * unless line_forget is called before: for all of a connection's when ctx is NULL. conn may be NULL (names). 0 or -errno:
 * then answer is not called.
 */
int line_record(struct control_line *line, struct control_record *record, struct conn *conn,
		void (*answer)(struct conn *conn, void *ctx, int error), void *ctx, uint64_t *ret_id);
void line_forget(struct control_line *line, const struct conn *conn, const void *ctx);
/* CONTROL_ACK. */
void line_acknowledge(struct control_line *line, const struct control_ack *ack);

#endif
