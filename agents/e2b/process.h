/*
 * A program of a sandbox, and the requests that give it input: process.c has the program and its listeners,
 * process-input.c the input.
 */
#ifndef CALLGATE_AGENTS_E2B_PROCESS_H
#define CALLGATE_AGENTS_E2B_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

#include "agents/e2b/private.h"

struct input_request;
struct process_listener;

struct e2b_process {
	struct e2b_process *next;
	struct e2b_sandbox *box;
	struct sandbox_program *program;
	json_t *config; /* the client's ProcessConfig */
	char *tag;      /* NULL: it has none */
	pid_t pid;      /* 0: not started yet */
	bool has_terminal, has_stdin;
	unsigned columns, rows;        /* of the terminal */
	bool closes_stdin_after_input; /* as soon as it has got what is in line */
	struct process_listener *listeners;
	struct input_request *waiting_inputs; /* that wait until the program takes them */
	struct input_request *input_streams;  /* that have named the program */
};

/* ---- process-input.c ---- */

/* The program has room: the first request in line writes. */
void process_on_room(void *process);
/* Gives the ProcessInput of a message to the program, and answers the request when that has taken it. */
void process_give_input(struct e2b_process *process, struct http_request *request, const json_t *message);
/* The program has ended: answers all that it has not taken. */
void process_end_inputs(struct e2b_process *process);
/* Cuts the connections of all that it has not taken. */
void process_abort_inputs(struct e2b_process *process);

#endif
