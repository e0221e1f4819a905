/* The text of a question file, for people and scripts: callgate-policy(5), ASKING. */
#ifndef CALLGATE_SUPERVISOR_ASK_QUESTION_H
#define CALLGATE_SUPERVISOR_ASK_QUESTION_H

#include <jansson.h>
#include <stdint.h>

#include "syscalls/call/call.h"

/* Identifies a question. The texts are borrowed. */
struct question_origin {
	const char *run_id;
	uint64_t number;     /* of the question's files */
	uint64_t timeout_ms; /* how long an answer is waited for */
};

/*
 * Makes the JSON object of a question, without the members that depend on who is asked. denied: the call as the policy
 * denies it. asked: the same call as it would be performed; its paths are resolved. All texts of the program are
 * escaped as in the log. Owned by the caller; NULL: out of memory.
 */
json_t *question_make_object(const struct question_origin *origin, const struct call *denied, const struct call *asked);

/* The time of a question, which is now. */
json_t *question_make_time(void);

/* The text of a question file. Owned by the caller; NULL: out of memory. */
char *question_make_text(const struct question_origin *origin, const struct call *denied, const struct call *asked);

#endif
