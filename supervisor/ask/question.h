/* The text of a question file, for people and scripts: callgate-policy(5), ASKING. */
#ifndef CALLGATE_SUPERVISOR_ASK_QUESTION_H
#define CALLGATE_SUPERVISOR_ASK_QUESTION_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "syscalls/call/call.h"

/* Identifies a question. The texts are borrowed. */
struct question_origin {
	const char *run_id;
	uint64_t number;     /* of the question's files */
	uint64_t timeout_ms; /* how long an answer is waited for */
};

/*
 * Between these two calls it is watched whether jansson gets all memory: without, it leaves out bytes of a text, or a
 * key of an object, and returns no error. False: it did not, and what was made is not to be used.
 */
void question_begin_making(void);
bool question_end_making(void);

/*
 * Makes the JSON object of a question, without the members that depend on who is asked. denied: the call as the policy
 * denies it. asked: the same call as it would be performed; its paths are resolved. All texts of the program are
 * escaped as in the log. Owned by the caller; NULL: out of memory.
 */
json_t *question_make_object(const struct question_origin *origin, const struct call *denied, const struct call *asked);

/* Whether an object has a member that json_pack(3) leaves out when it is NULL: also where memory was short. */
bool question_has_member(const json_t *object, const char *name, bool is_told);

/* The time of a question, which is now. */
json_t *question_make_time(void);

/* The text of a question file. Owned by the caller; NULL: out of memory. */
char *question_make_text(const struct question_origin *origin, const struct call *denied, const struct call *asked);

#endif
