/*
 * Programs that clients run in a sandbox. process.c starts a program, process-events.c tells clients of it, and
 * process-input.c passes on what they send to its stdin.
 */
#ifndef CALLGATE_AGENTS_E2B_PROCESS_H
#define CALLGATE_AGENTS_E2B_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

#include "agents/e2b/private.h"

struct input_request;
struct process_subscriber;

/* A program that a client has started in a sandbox. */
struct e2b_process {
	struct e2b_process *next;
	struct e2b_sandbox *box;
	struct sandbox_look *look;       /* at what it runs, before it starts; NULL: none, or ended */
	json_t *looked;                  /* the answer of that; owned; NULL: none */
	struct sandbox_program *program; /* NULL: not started yet */
	json_t *config; /* the client's ProcessConfig: cmd, args, envs, cwd */
	char *cwd;      /* absolute; NULL: the workdir */
	char *tag;      /* the client's name for the program; NULL: none */
	pid_t pid;      /* in the sandbox; 0: not started yet */
	uint64_t time_limit_ms; /* 0: none */
	bool has_terminal, has_stdin;
	unsigned columns, rows;        /* of the terminal */
	bool closes_stdin_after_input; /* CloseStdin was called: stdin is closed when waiting_inputs is empty */
	struct process_subscriber *subscribers;
	struct input_request *waiting_inputs; /* requests whose bytes the program has not taken yet, in their order */
	struct input_request *input_streams;  /* requests to StreamInput that have named the program */
};

/* ---- process-events.c ---- */

/* Takes a program off its sandbox' list, ends it, and frees it. */
void process_free(struct e2b_process *process);
/* Adds a client that listens to the program. NULL: the request has been answered with an error. */
struct process_subscriber *subscriber_add(struct e2b_process *process, struct http_request *request);
/* Begins the stream to a client that listens to the program. */
void subscriber_begin_stream(struct process_subscriber *subscriber);
/* Answers all requests for a program that is not started, and frees it. */
void process_answer_not_started(struct e2b_process *process, enum connect_code code, const char *why);
/* What the program does, as sandbox_program_options has it; process: a struct e2b_process. */
void process_on_start(void *process, pid_t pid, unsigned number);
void process_on_output(void *process, enum sandbox_stream stream, const char *bytes, size_t len);
void process_on_end(void *process, const json_t *result);

/* ---- process-input.c ---- */

/* Called when the program reads its stdin again, or new input waits: writes what waits, as far as it is taken. */
void process_on_stdin_room(void *process);
/* Passes input on to the program's stdin. Answers the request when the program has taken all of the input. */
void process_queue_input(struct e2b_process *process, struct http_request *request, const json_t *message);
/* The program has ended: answers the requests whose input it has not taken with an error. */
void process_end_inputs(struct e2b_process *process);
/* Cuts the connections of requests whose input the program has not taken. */
void process_abort_inputs(struct e2b_process *process);

#endif
