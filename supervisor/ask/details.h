/* What a question to the approver tells besides that of a question file: callgate-policy(5), APPROVAL. */
#ifndef CALLGATE_SUPERVISOR_ASK_DETAILS_H
#define CALLGATE_SUPERVISOR_ASK_DETAILS_H

#include <jansson.h>
#include <stdbool.h>

#include "base/sha256.h"
#include "syscalls/call/call.h"

/* What the details of a question need besides its call. */
struct details_options {
	const char *policy_name, *policy_sha256;
	bool can_hold_for_run;  /* the answer "run" is offered */
	bool can_be_remembered; /* and "remember" */
};

/*
 * Adds to the object of a question: the command line, the processes above, the rule that would permit the call, what
 * else that rule would open, the answers that are offered, and lines for people. denied, asked: as
 * question_make_object().
 */
void details_add(json_t *object, const struct details_options *options, const struct call *denied,
		 const struct call *asked);

/*
 * Computes what makes two questions equal, so that they are asked once: the key of the call, the program, and its
 * command line.
 */
void details_compute_equality(const struct call *denied, const char *key, char ret_equality[SHA256_HEX_SIZE]);

#endif
