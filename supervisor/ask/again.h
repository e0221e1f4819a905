/*
 * Judges a denied call again, under the second policy and in the second view, and performs it if its key was approved.
 * For ask.c, in the supervisor thread. Works on dispatch->call.
 */
#ifndef CALLGATE_SUPERVISOR_ASK_AGAIN_H
#define CALLGATE_SUPERVISOR_ASK_AGAIN_H

#include "base/sha256.h"
#include "supervisor/ask/ask.h"

enum rejudge_result {
	REJUDGE_PERFORMED,      /* and answered */
	REJUDGE_COPIES_FIRST,   /* it waits for a copy (OUTCOME_COPY_FIRST), and is to be judged again then */
	REJUDGE_CANNOT_COPY,    /* no thread can make that copy; nothing was performed */
	REJUDGE_CALL_CHANGED,   /* the call is not the approved one; nothing was performed */
	REJUDGE_THREAD_IS_DEAD, /* no thread waits for the call any more; nothing was performed */
};

/* How a question was approved. The pointers are borrowed. */
struct rejudge_approval {
	const char *key;                  /* the key (key.h) of the call that was approved */
	const struct call_answer *answer; /* the answer, for the record of the call */
	uint64_t start_ns;                /* when the call was received */
};

/* The keys of a question: key.h. */
struct rejudge_keys {
	char call[SHA256_HEX_SIZE];  /* of the exact call */
	char scope[SHA256_HEX_SIZE]; /* of what an answer for the run holds for; "": there is no such scope */
};

/*
 * True for a call that may be asked about, as far as the first judgement tells, and whose denial has this mode, if it
 * is one.
 */
bool rejudge_can_question_be_asked(const struct dispatch *dispatch, enum policy_on_deny mode);

/*
 * Judges the call without performing it. True: it would be performed; ret_keys are the question's, and the plan of an
 * exec, in dispatch->call, is the caller's. False, too, with OUTCOME_COPY_FIRST of dispatch->call, which is the
 * caller's: the program has to get its content before it can be judged.
 */
bool rejudge_without_performing(struct dispatch *dispatch, const struct asker_options *second,
				const struct seccomp_notif *notification, struct rejudge_keys *ret_keys);

/* Performs the call, and responds, if its key is the approved one. */
enum rejudge_result rejudge_and_perform(struct dispatch *dispatch, const struct asker_options *second,
				const struct seccomp_notif *notification, const struct rejudge_approval *approval);

#endif
