/*
 * "on_deny": "ask-file" and "ask": a denied call waits, its notification without a response, while a question about it
 * is in the directory of --ask, or with the approver of --approve (approval/). An answer may allow it; then it is
 * judged and performed under a second policy and view, those of --mode observe: so secrets, and whatever observing
 * refuses, stay denied without a question.
 *
 * The arguments are in memory that the program may change meanwhile. So the approved call is judged again, and
 * performed only if its key (key.h) is that of the question; otherwise it is handled like a new call.
 *
 * Called by dispatch.c and loop.c in the supervisor thread, which never waits for an answer: it looks for answers, and
 * for calls that have ended, every ASK_ANSWER_POLL_INTERVAL_MS while a question is open. The loop also watches the
 * approver.
 *
 * To the approver equal questions are one, and there are limits for how many are open and how many come in a second.
 */
#ifndef CALLGATE_SUPERVISOR_ASK_ASK_H
#define CALLGATE_SUPERVISOR_ASK_ASK_H

#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdint.h>

#include "supervisor/dispatch.h"

#define ASK_OPEN_QUESTIONS_MAX 256u /* open questions of a run; a further denial is not asked about */
#define ASK_ANSWER_POLL_INTERVAL_MS 50 /* how often the directory is searched for answer files */

struct asker;

/* What all questions of a run need. The pointers are borrowed while the asker exists. */
struct asker_options {
	const struct policy *policy; /* the second policy, which observes */
	struct view *view;           /* the second view */
	int dir_fd;                  /* the directory of --ask; -1: none */
	int approver_fd;             /* the channel to the approver of --approve; -1: none. One of the two is there */
	bool can_be_remembered;      /* the approver can remember answers */
	uint64_t timeout_ns;         /* after this time a question counts as denied */
	const char *run_id;
	const char *policy_sha256; /* of the policy that denies; set before the program starts */
};

/* Makes what asks the questions of a run. 0 with *ret_asker owned by the caller, or -ENOMEM. */
int asker_create(const struct asker_options *options, struct asker **ret_asker);
/* Frees the asker. ask_withdraw_all_questions() must have been called before. */
void asker_free(struct asker *asker);

/*
 * After dispatch->call was denied, and before that is recorded: true when a question is open, or an earlier answer
 * allowed the call and it was performed. False: the denial is to be finished as usual; or the call ends with
 * OUTCOME_COPY_FIRST, as a program that needs its content before it can be asked about.
 */
bool ask_about_denial(struct dispatch *dispatch, const struct seccomp_notif *notification);

struct egress_question;
/*
 * For supervisor/gateway/questions.h: asks about a request of egress, and ends the question about one. context: struct
 * dispatch, with an asker.
 */
void ask_about_request(void *dispatch, struct egress_question *request);
void ask_withdraw_request(void *dispatch, struct egress_question *request);

/*
 * Handles answers, deadlines and calls that have ended. may_perform: false: the programs are stopped, so approved calls
 * wait. Returns the milliseconds until it is due again; -1: never.
 */
int ask_poll_open_questions(struct dispatch *dispatch, bool may_perform);

/*
 * Performs the approved call of a notification that has waited for a copy (OUTCOME_COPY_FIRST). False: it is none that
 * was approved.
 */
bool ask_continue_after_copy(struct dispatch *dispatch, uint64_t id);

/*
 * Removes and returns a notification whose approved call has changed since the question. The caller dispatches it like
 * a new one. False: there is none.
 */
bool ask_pop_changed_question(struct asker *asker, struct seccomp_notif *ret_notification);

/* At the end of the run: withdraws all questions. Their calls are denied on record. */
void ask_withdraw_all_questions(struct dispatch *dispatch);

#endif
