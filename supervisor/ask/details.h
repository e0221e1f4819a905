/* What a question to the approver tells besides that of a question file: callgate-policy(5), APPROVAL. */
#ifndef CALLGATE_SUPERVISOR_ASK_DETAILS_H
#define CALLGATE_SUPERVISOR_ASK_DETAILS_H

#include <jansson.h>
#include <stdbool.h>

#include "supervisor/ask/process.h"
#include "supervisor/ask/shown.h"
#include "syscalls/call/call.h"

/* What the details of a question need besides its call. */
struct details_options {
	const char *policy_name, *policy_sha256;
	bool can_hold_for_run;  /* the answer "run" is offered */
	bool can_be_remembered; /* and "remember" */
	bool cannot_be_once;    /* "once" is not offered */
};

/*
 * Adds to the object of a question: the command line, the processes above, the rule that would permit the call, what
 * else that rule would open, the answers that are offered, and lines for people. denied, asked: as
 * question_make_object(). False: out of memory, and the object is not to be used.
 */
bool details_add(json_t *object, const struct details_options *options, const struct call *denied,
		 const struct call *asked);

/*
 * Adds what an exec was asked to run: arguments, directory and environment. Nothing for other calls. False: out of
 * memory.
 */
bool details_add_execution(json_t *object, const struct call *asked);

/*
 * Whether the lines for people show all of what an answer for the run would hold for: the paths, and the variables that
 * may change which code an exec runs. Where they do not, no such answer is offered.
 */
bool details_show_scope(const struct call *asked);

/*
 * Adds the line that tells people which rule would permit what is asked about. rule: taken; null: there is no such;
 * NULL: out of memory.
 */
void details_add_rule_line(struct shown_lines *lines, json_t *rule);

/*
 * Adds the members that a question about a request has, too: type, policy and the answers that are offered. False: out
 * of memory.
 */
bool details_add_policy(json_t *object, const struct details_options *options);

/* The process that makes the call. */
struct asking_process details_get_process(const struct call *denied);

#endif
