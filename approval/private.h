/* What approver.c and front.c share: the open questions, and who answers them. */
#ifndef CALLGATE_APPROVAL_PRIVATE_H
#define CALLGATE_APPROVAL_PRIVATE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "approval/approver.h"
#include "approval/message.h"
#include "base/buf.h"

#define APPROVER_LINE_BYTES_MAX 4096u        /* an answer's line; a longer one is none */
#define APPROVER_OUTPUT_BYTES_MAX (1u << 20) /* what waits for a socket whose reader is slow; then it is given up */

/* A line that is being read. */
struct approver_line {
	char text[APPROVER_LINE_BYTES_MAX];
	size_t len;
};

struct approver_question {
	bool is_open;
	bool was_asked; /* the front has it; false: its answer was remembered */
	struct approval_question head;
	char *text;     /* the question's JSON, owned */
	uint64_t order; /* questions that came later have a larger one */
	pid_t command; /* the process that is asked, which leads its group; 0: none */
	int answer_fd; /* its standard output; -1: none */
	struct approver_line line;
};

struct approver {
	struct approver_options options;
	int channel_fd;
	struct approver_question question[APPROVAL_OPEN_QUESTIONS_MAX];
	struct approver_line line; /* of the socket */
	struct buf output;         /* what the socket has not taken yet */
	bool has_reported_stray_answer;
	uint64_t last_order;             /* of the newest question */
	struct approver_question *shown; /* on the terminal now; NULL: none */
};

/* ---- approver.c ---- */

/* Reads what a descriptor has into `line`. 1: the line is complete, without its '\n'; 0: not yet; -errno; -EPIPE: end. */
int approver_read_line(int fd, struct approver_line *line);
/* Answers a question and closes it. */
void approver_answer(struct approver *approver, struct approver_question *question, enum approval_answer_word word,
		     enum approval_way way, uid_t uid);
/* Answers all open questions with APPROVAL_GONE. */
void approver_answer_all_gone(struct approver *approver, enum approval_way way);
/*
 * Reads an answer, which may be NULL, and closes the question that it is for. only: the question that it must be for;
 * NULL: any open one. False: the object is no answer at all.
 */
bool approver_take_answer(struct approver *approver, struct approver_question *only, const json_t *object,
			  enum approval_way way, uid_t uid);
/* As approver_take_answer(), with the JSON of a line. */
bool approver_take_answer_line(struct approver *approver, struct approver_question *only,
			       const struct approver_line *line, enum approval_way way, uid_t uid);

/* ---- front.c ---- */

void front_ask(struct approver *approver, struct approver_question *question);
/* The question is closed: its command is ended, the socket is told. `why` is for the socket. */
void front_close_question(struct approver *approver, struct approver_question *question, const char *why);
/* The socket can be read. */
void front_read_socket(struct approver *approver);
/* The socket can be written. */
void front_write_socket(struct approver *approver);
/* The command of a question has written something. */
void front_read_command(struct approver *approver, struct approver_question *question);

/* ---- terminal.c ---- */

/* Shows the oldest open question on the terminal, when there is one and none is shown. */
void terminal_show_next(struct approver *approver);
/* Says that a question is closed, if it is the one that is shown. */
void terminal_close_question(struct approver *approver, const struct approver_question *question, const char *why);
/* The terminal can be read. */
void terminal_read(struct approver *approver);

#endif
