#include "supervisor/ask/ask.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "supervisor/ask/again.h"
#include "supervisor/ask/directory.h"
#include "supervisor/ask/question.h"
#include "supervisor/dispatch-call.h"
#include "supervisor/on-deny.h"

#define NS_PER_MS UINT64_C(1000000)

/* A denied call that waits for an answer. */
struct question {
	struct question *next;
	uint64_t number;   /* its files are NUMBER.json and NUMBER.answer */
	uint64_t asked_ns; /* time of the question, by io_read_clock_ns() */
	struct seccomp_notif notification; /* of the call, which has no response yet */
	char key[SHA256_HEX_SIZE];
	struct call *denied_call; /* the call as the policy denies it; owned; its task is `task` */
	struct task task;    /* a copy, because the thread may die; exe is owned */
	struct call_answer answer;
};

/* Asks about denied calls by files, and performs the calls that the answers allow: --ask. */
struct asker {
	struct asker_options options;
	struct question *questions; /* in the order in which they were asked */
	/* questions whose approved call turned out to be another call than the question was about */
	struct question *questions_of_changed_calls;
	unsigned open_question_count;  /* entries of `questions` */
	uint64_t last_question_number; /* number of the newest question: its files are NUMBER.json and NUMBER.answer */
	uint64_t next_poll_ns;         /* when ask_poll_open_questions is due */
	struct call_answer answer_without_question; /* what the record says as the answer when no question was opened */
	struct {
		char key[SHA256_HEX_SIZE];
		uid_t uid;
	} always[ASK_OPEN_QUESTIONS_MAX]; /* answered with "allow-always" */
	size_t always_answer_count;       /* used entries of always[] */
};

int asker_create(const struct asker_options *options, struct asker **ret_asker)
{
	struct asker *asker = calloc(1, sizeof(*asker));

	if (!asker)
		return -ENOMEM;
	asker->options = *options;
	*ret_asker = asker;
	return 0;
}

void asker_free(struct asker *asker)
{
	free(asker);
}

/* ---- asking ---- */

/*
 * If the directory where a path starts is not in the first view, the call fails with ENOENT, which is no denial. Makes
 * `denied` the denial of the object that the path leads to in the second view. False: the policy grants that object, or
 * its denial is not asked about.
 */
static bool ask_find_denial_of_outside_path(const struct dispatch *dispatch, struct call *denied)
{
	const struct policy_observed_denial *observed = &dispatch->call->decision.observed_denial;

	if (denied->decision.verdict == VERDICT_DENY)
		return true;
	if (!observed->error ||
	    policy_find_on_deny(dispatch->sandbox->policy, observed->rule) != ON_DENY_ASK_FILE)
		return false;
	(void)call_refuse(denied, -ENOENT, observed->rule, observed->reason);
	denied->decision.wanted_rights = dispatch->call->decision.wanted_rights;
	return true;
}

/* Finishes a denial: it is recorded with its answer, and the call fails. */
static void ask_deny_call_of_question(struct dispatch *dispatch, const struct question *question)
{
	struct call *own = dispatch->call;
	struct task *task = task_table_find_task(dispatch->sandbox->tree, question->task.tid);

	/* otherwise the call keeps the question's copy of the task, because no thread waits for it */
	if (task && call_thread_still_waits(question->denied_call))
		question->denied_call->task = task;
	dispatch->call = question->denied_call;
	dispatch_finish_call(dispatch, &question->notification);
	dispatch->call = own;
}

static void question_free(struct question *question)
{
	if (!question)
		return;
	free(question->denied_call);
	free(question->task.exe);
	free(question);
}

static struct question *question_create(const struct seccomp_notif *notification, const char *key,
					const struct call *denied)
{
	struct question *question = calloc(1, sizeof(*question));

	if (!question)
		return NULL;
	question->notification = *notification;
	memcpy(question->key, key, sizeof(question->key));
	question->task = *denied->task;
	question->task.pidfd = -1;
	question->task.next = NULL;
	question->task.ongoing_nofile_limit_changes = NULL;
	question->task.exe = strdup(denied->task->exe);
	question->answer = (struct call_answer){
		.uid = -1, .rule = denied->decision.rule, .reason = denied->decision.reason};
	if (question->task.exe)
		return question;
	question_free(question);
	return NULL;
}

/* Writes the question file. ASK_NO_ANSWER_YET, or the reason why it was not written. */
static enum ask_result ask_write_question(struct asker *asker, uint64_t number, const struct call *denied,
					  const struct call *asked)
{
	const struct question_origin origin = {asker->options.run_id, number, asker->options.timeout_ns / NS_PER_MS};
	_cleanup_free_ char *text = NULL;

	if (asker->open_question_count >= ASK_OPEN_QUESTIONS_MAX)
		return ASK_TOO_MANY_OPEN_QUESTIONS;
	if (ask_directory_is_gone(asker->options.dir_fd))
		return ASK_DIRECTORY_GONE;
	text = question_make_text(&origin, denied, asked);
	if (!text || ask_directory_write_question(asker->options.dir_fd, number, text, strlen(text)) < 0)
		return ASK_QUESTION_UNWRITABLE;
	return ASK_NO_ANSWER_YET;
}

static void ask_append_question(struct asker *asker, struct question *question)
{
	struct question **last = &asker->questions;

	while (*last)
		last = &(*last)->next;
	*last = question;
	if (asker->open_question_count++ == 0)
		asker->next_poll_ns = 0;
}

/*
 * Opens a question about the call `denied`, and then owns that call. ASK_NO_ANSWER_YET, or the reason why no question
 * was opened.
 */
static enum ask_result ask_open_question(struct asker *asker, const struct seccomp_notif *notification, const char *key,
					 struct call *denied, const struct call *asked)
{
	struct question *question = question_create(notification, key, denied);
	enum ask_result word = question ? ask_write_question(asker, asker->last_question_number + 1, denied, asked)
					: ASK_QUESTION_UNWRITABLE;

	if (word != ASK_NO_ANSWER_YET) {
		question_free(question);
		return word;
	}
	question->number = ++asker->last_question_number;
	question->asked_ns = io_read_clock_ns();
	question->denied_call = denied;
	denied->task = &question->task;
	denied->answer = &question->answer;
	ask_append_question(asker, question);
	return ASK_NO_ANSWER_YET;
}

/* Whether the same call was answered with "allow-always" before. *ret_uid: who answered. */
static bool ask_is_always_allowed(const struct asker *asker, const char *key, uid_t *ret_uid)
{
	for (size_t i = 0; i < asker->always_answer_count; i++)
		if (strcmp(asker->always[i].key, key) == 0) {
			*ret_uid = asker->always[i].uid;
			return true;
		}
	return false;
}

/* Performs a denied call without a question, if an earlier answer was "allow-always". False: ask. */
static bool ask_perform_if_always_allowed(struct dispatch *dispatch, const struct seccomp_notif *notification,
					  const char *key, const struct call *denied)
{
	struct call_answer *answer = &dispatch->asker->answer_without_question;
	uid_t uid;

	if (!ask_is_always_allowed(dispatch->asker, key, &uid))
		return false;
	*answer = (struct call_answer){.answer_word = ask_result_get_name(ASK_ANSWER_ALLOW_ALWAYS),
				       .uid = uid,
				       .rule = denied->decision.rule,
				       .reason = denied->decision.reason};
	return rejudge_and_perform(dispatch, &dispatch->asker->options, notification,
			     &(struct rejudge_approval){key, answer, denied->start_ns}) == REJUDGE_PERFORMED;
}

/*
 * Makes the denied call dispatch->call again. Looks its task up again, because the pointer was valid only until the
 * second judgement looked the task up.
 */
static void ask_restore_denied_call(struct dispatch *dispatch, struct call *denied)
{
	struct call *other = dispatch->call;

	dispatch->call = denied;
	denied->task = task_table_find_task(dispatch->sandbox->tree, denied->tid);
	if (!denied->task) {
		denied->task = other->task;
		(void)call_end_without_response(denied);
	}
	free(other);
}

bool ask_about_denial(struct dispatch *dispatch, const struct seccomp_notif *notification)
{
	struct asker *asker = dispatch->asker;
	struct call *denied = dispatch->call, *other;
	char key[SHA256_HEX_SIZE];
	enum ask_result word;

	if (!asker || !rejudge_can_question_be_asked(dispatch) || !(other = calloc(1, sizeof(*other))))
		return false;
	dispatch->call = other;
	if (!rejudge_without_performing(dispatch, &asker->options, notification, key) ||
	    !ask_find_denial_of_outside_path(dispatch, denied)) {
		ask_restore_denied_call(dispatch, denied);
		return false;
	}
	if (ask_perform_if_always_allowed(dispatch, notification, key, denied)) {
		free(denied);
		return true;
	}
	word = ask_open_question(asker, notification, key, denied, other);
	if (word == ASK_NO_ANSWER_YET)
		return true;
	asker->answer_without_question = (struct call_answer){.answer_word = ask_result_get_name(word),
							      .uid = -1,
							      .rule = denied->decision.rule,
							      .reason = denied->decision.reason};
	denied->answer = &asker->answer_without_question;
	ask_restore_denied_call(dispatch, denied);
	return false;
}

/* ---- answers ---- */

/* Keeps an "allow-always". When there is no room, only this question is allowed. */
static void ask_remember_always_answer(struct asker *asker, const struct question *question)
{
	if (asker->always_answer_count == sizeof(asker->always) / sizeof(asker->always[0]))
		return;
	memcpy(asker->always[asker->always_answer_count].key, question->key, sizeof(question->key));
	asker->always[asker->always_answer_count++].uid = (uid_t)question->answer.uid;
}

/* Tells the user, by the keeper and once a run, that callgate may not read an answer. */
static void ask_report_unreadable_answer(const struct dispatch *dispatch, uint64_t number)
{
	const struct stop_notices *notices = dispatch->sandbox->stop_notices;

	if (!notices || notices->shared_page->unreadable_answer)
		return;
	notices->shared_page->unreadable_answer = number;
	on_deny_send_byte_to_keeper(notices, RUN_BYTE_ANSWER_UNREADABLE);
}

/* Returns why a question ends: its answer, its deadline, or the end of its call. ASK_NO_ANSWER_YET: it stays open. */
static enum ask_result ask_find_why_question_ends(const struct dispatch *dispatch, struct question *question,
						  uint64_t now_ns, bool gone)
{
	const struct asker *asker = dispatch->asker;
	enum ask_result word;
	uid_t uid = 0;

	if (!call_thread_still_waits(question->denied_call))
		return ASK_QUESTION_WITHDRAWN;
	if (gone)
		return ASK_DIRECTORY_GONE;
	word = ask_directory_read_answer(asker->options.dir_fd, question->number, &uid);
	if (word == ASK_ANSWER_NOT_READABLE_YET) {
		ask_report_unreadable_answer(dispatch, question->number);
		word = ASK_NO_ANSWER_YET;
	}
	if (word != ASK_NO_ANSWER_YET && word != ASK_ANSWER_UNREADABLE)
		question->answer.uid = uid;
	if (word == ASK_NO_ANSWER_YET && now_ns - question->asked_ns >= asker->options.timeout_ns)
		return ASK_ANSWER_TIMEOUT;
	return word;
}

/* Ends a question that was taken out of the list. */
static void ask_end_question(struct dispatch *dispatch, struct question *question, enum ask_result word,
			     uint64_t now_ns)
{
	struct asker *asker = dispatch->asker;
	enum rejudge_result result = REJUDGE_THREAD_IS_DEAD;

	ask_directory_remove_question(asker->options.dir_fd, question->number);
	question->answer.answer_word = ask_result_get_name(word);
	question->answer.kills_process = word == ASK_ANSWER_DENY_AND_KILL;
	question->answer.question_open_ns = now_ns - question->asked_ns;
	if (word == ASK_ANSWER_ALLOW_ALWAYS)
		ask_remember_always_answer(asker, question);
	if (word == ASK_ANSWER_ALLOW || word == ASK_ANSWER_ALLOW_ALWAYS)
		result = rejudge_and_perform(dispatch, &asker->options, &question->notification,
				       &(struct rejudge_approval){question->key, &question->answer,
								question->denied_call->start_ns});
	if (result == REJUDGE_CALL_CHANGED) {
		question->next = asker->questions_of_changed_calls;
		asker->questions_of_changed_calls = question;
		return;
	}
	if (result == REJUDGE_THREAD_IS_DEAD)
		ask_deny_call_of_question(dispatch, question);
	question_free(question);
}

int ask_poll_open_questions(struct dispatch *dispatch)
{
	struct asker *asker = dispatch->asker;
	struct question **link;
	uint64_t now_ns;
	bool gone;

	if (!asker || !asker->questions)
		return -1;
	now_ns = io_read_clock_ns();
	if (now_ns < asker->next_poll_ns)
		return (int)((asker->next_poll_ns - now_ns) / NS_PER_MS) + 1;
	asker->next_poll_ns = now_ns + ASK_ANSWER_POLL_INTERVAL_MS * NS_PER_MS;
	gone = ask_directory_is_gone(asker->options.dir_fd);
	link = &asker->questions;
	while (*link) {
		struct question *question = *link;
		enum ask_result word = ask_find_why_question_ends(dispatch, question, now_ns, gone);

		if (word == ASK_NO_ANSWER_YET) {
			link = &question->next;
			continue;
		}
		*link = question->next;
		asker->open_question_count--;
		ask_end_question(dispatch, question, word, now_ns);
	}
	return asker->questions ? ASK_ANSWER_POLL_INTERVAL_MS : -1;
}

bool ask_pop_changed_question(struct asker *asker, struct seccomp_notif *ret_notification)
{
	struct question *question = asker ? asker->questions_of_changed_calls : NULL;

	if (!question)
		return false;
	asker->questions_of_changed_calls = question->next;
	*ret_notification = question->notification;
	question_free(question);
	return true;
}

void ask_withdraw_all_questions(struct dispatch *dispatch)
{
	struct asker *asker = dispatch->asker;
	uint64_t now_ns = io_read_clock_ns();

	while (asker && asker->questions) {
		struct question *question = asker->questions;

		asker->questions = question->next;
		asker->open_question_count--;
		ask_end_question(dispatch, question, ASK_QUESTION_WITHDRAWN, now_ns);
	}
}
