/* What a question tells of the process that it is about: callgate-policy(5), APPROVAL. */
#ifndef CALLGATE_SUPERVISOR_ASK_PROCESS_H
#define CALLGATE_SUPERVISOR_ASK_PROCESS_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/sha256.h"
#include "supervisor/ask/shown.h"
#include "view/tree.h"

/* The process. The pointers are borrowed. */
struct asking_process {
	struct task_table *tree;
	pid_t pid, ppid; /* 0: unknown, because the process has ended */
	const char *exe;
	bool may_be_another; /* the process may execute another program than `exe` */
};

/* Adds the members of a question: command line, and the processes above. False: out of memory. */
bool process_add_members(json_t *object, const struct asking_process *process);
/* Adds the lines by which people decide: program and command line. */
void process_add_lines(struct shown_lines *lines, const struct asking_process *process);
/* The list of the texts of a command line, which NULs separate. NULL: out of memory. */
json_t *process_make_command(const char *text, size_t len);

/* Computes what makes two questions equal, so that they are asked once: `key`, the program, and its command line. */
void process_compute_equality(const struct asking_process *process, const char *key,
			      char ret_equality[SHA256_HEX_SIZE]);

#endif
