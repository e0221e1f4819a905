/* What the sources of the approver share: the open questions, and who answers them. */
#ifndef CALLGATE_APPROVAL_PRIVATE_H
#define CALLGATE_APPROVAL_PRIVATE_H

#include <jansson.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "approval/approver.h"
#include "approval/message.h"
#include "base/buf.h"

#define APPROVER_LINE_BYTES_MAX 4096u        /* an answer's line; a longer one is none */
#define APPROVER_OUTPUT_BYTES_MAX (1u << 20) /* what waits for a slow socket or terminal; then it is given up */

/* A line that is being read. */
struct approver_line {
	char text[APPROVER_LINE_BYTES_MAX];
	size_t len;
};

struct approver_question {
	bool is_open;
	bool was_sent; /* by the socket; false: its answer was remembered */
	struct approval_question head;
	char *text;     /* the question's JSON, owned */
	uint64_t order; /* questions that came later have a larger one */
	uint64_t expires_s; /* when its answer APPROVAL_REMEMBER ends */
	pid_t command;  /* the process that is asked, which leads its group; 0: none */
	int answer_fd;  /* its standard output; -1: none */
	struct approver_line line;
};

struct approver {
	struct approver_options options;
	const struct approver_front *front;
	int channel_fd;
	struct approver_question question[APPROVAL_OPEN_QUESTIONS_MAX];
	struct approver_line line; /* of the socket */
	struct buf output;         /* what the socket or the terminal has not taken yet */
	bool has_reported_stray_answer;
	uint64_t last_order;             /* of the newest question */
	struct approver_question *shown; /* on the terminal now; NULL: none */
	bool is_showing;                 /* the terminal has not taken the end of `shown` yet */
	bool is_within_line;             /* of the terminal's input the last line has not been read to its end */
};

/* ---- questions.c: the open questions, and what an answer does to them ---- */

/* The open question of this id, or NULL. */
struct approver_question *questions_find(struct approver *approver, const char *id);
#define APPROVAL_CLOSED_WITHDRAWN "withdrawn" /* by the supervisor: its call has ended, or its time */

/* Closes a question, and tells the front why. Its place can take another one. */
void questions_close(struct approver *approver, struct approver_question *question, const char *why);
/* Answers a question, and closes it. uid: who answered; unused with APPROVAL_GONE, which is no answer. */
void questions_answer(struct approver *approver, struct approver_question *question, enum approval_answer_word word,
		      enum approval_way way, uid_t uid);
/*
 * Receives one message of the supervisor, which may open or close a question. 1; 0: there is none; or -errno: it has
 * ended.
 */
int questions_receive(struct approver *approver);
/* Answers all open questions with APPROVAL_GONE. */
void questions_answer_all_gone(struct approver *approver);
/*
 * Reads a front's answer, which may be NULL, and closes the question that it is for. only: the question that it must be
 * for; NULL: any open one. False: the object is no answer at all.
 */
bool questions_take_answer(struct approver *approver, struct approver_question *only, const json_t *object, uid_t uid);
/* As questions_take_answer(), with the JSON of a line. */
bool questions_take_answer_line(struct approver *approver, struct approver_question *only,
				const struct approver_line *line, uid_t uid);
/* Reads what a descriptor has into `line`. 1: the line is complete, without '\n'; 0: not yet; -errno; -EPIPE: end. */
int questions_read_line(int fd, struct approver_line *line);

/* ---- output.c: what a socket or terminal has not taken yet ---- */

/*
 * Adds a text, and what ends it, to what the front's socket or terminal is to get. 0; -ENOBUFS: too much waits already;
 * or -ENOMEM.
 */
int approver_add_output(struct approver *approver, const char *text, const char *end);

/* ---- fronts: who is asked, front-*.c ---- */

#define FRONT_FDS_MAX APPROVAL_OPEN_QUESTIONS_MAX

/* An approver has one front. A descriptor that was given up is -1 in the options; then no question can be asked. */
struct approver_front {
	enum approval_way way; /* by which its answers come */
	/* Asks a question that was opened. 0, or -1: it cannot be asked. */
	int (*ask)(struct approver *approver, struct approver_question *question);
	/* A question is being closed: ends what asks it, and tells who was asked. */
	void (*close)(struct approver *approver, struct approver_question *question, const char *why);
	/* Called before each wait. fds: what to wait for; all are {.fd = -1} before. */
	void (*watch)(struct approver *approver, struct pollfd fds[FRONT_FDS_MAX]);
	/* Called after each wait. Questions that had a descriptor in fds may be closed by now. */
	void (*handle)(struct approver *approver, const struct pollfd fds[FRONT_FDS_MAX]);
};

extern const struct approver_front front_socket;   /* a Unix socket, JSON lines */
extern const struct approver_front front_client;   /* the same, of the process that has started callgate */
extern const struct approver_front front_command;  /* a command for each question */
extern const struct approver_front front_terminal; /* the terminal of the caller: one question at a time */

#endif
