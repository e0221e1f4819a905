#include "supervisor/ask/ask.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "policy/policy.h"
#include "supervisor/ask/again.h"
#include "supervisor/ask/approver.h"
#include "supervisor/ask/details.h"
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
	struct rejudge_keys keys;          /* identify the call, and calls that one answer holds for */
	char equality[SHA256_HEX_SIZE]; /* with an approver: equal questions have one number, and are asked once */
	struct approval_question sent;  /* with an approver: the head of the message that asked */
	uint64_t deadline_ns;           /* when the question ends without an answer */
	enum ask_result received; /* with an approver: the answer */
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
	/* answers that hold for the run: "allow-always" for the key of a call; an approver's for a scope */
	struct {
		char key[SHA256_HEX_SIZE];
		enum ask_result word;
		const char *how;
		int64_t uid;
	} always[ASK_OPEN_QUESTIONS_MAX];
	size_t always_answer_count; /* used entries of always[] */
	struct approver_rate rate;  /* with an approver */
	bool approver_is_gone;      /* the process that answers has closed its socket */
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
	if (!observed->error || policy_find_on_deny(dispatch->sandbox->policy, observed->rule) !=
					asker_options_get_mode(&dispatch->asker->options))
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

static struct question *question_create(const struct seccomp_notif *notification, const struct rejudge_keys *keys,
					const struct call *denied)
{
	struct question *question = calloc(1, sizeof(*question));

	if (!question)
		return NULL;
	question->notification = *notification;
	question->keys = *keys;
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

/* An answer, as the records of calls have it that were not asked about one by one. */
static void ask_set_answer_without_question(struct asker *asker, enum ask_result word, const struct call *denied)
{
	asker->answer_without_question = (struct call_answer){.mode = asker_options_get_mode(&asker->options),
							      .answer_word = ask_result_get_name(word),
							      .uid = -1,
							      .rule = denied->decision.rule,
							      .reason = denied->decision.reason};
}

/* Writes the question file. ASK_NO_ANSWER_YET, or the reason why it was not written. */
static enum ask_result ask_write_question(struct asker *asker, uint64_t number, const struct call *denied,
					  const struct call *asked)
{
	const struct question_origin origin = {asker->options.run_id, number, asker->options.timeout_ns / NS_PER_MS};
	_cleanup_free_ char *text = NULL;

	if (ask_directory_is_gone(asker->options.dir_fd))
		return ASK_DIRECTORY_GONE;
	text = question_make_text(&origin, denied, asked);
	if (!text || ask_directory_write_question(asker->options.dir_fd, number, text, strlen(text)) < 0)
		return ASK_QUESTION_UNWRITABLE;
	return ASK_NO_ANSWER_YET;
}

/* ---- asking an approver ---- */

/* Computes the id: nobody can know it who has not seen this very question, about this very call, under this policy. */
static bool ask_make_id(struct approval_question *sent, const char *key, const char *text)
{
	_cleanup_buf_ struct buf bytes = {0};
	unsigned char nonce[32];

	if (getrandom(nonce, sizeof(nonce), GRND_NONBLOCK) != sizeof(nonce))
		return false;
	buf_add(&bytes, nonce, sizeof(nonce));
	buf_add(&bytes, sent->policy_sha256, sizeof(sent->policy_sha256));
	buf_add(&bytes, key, SHA256_HEX_SIZE);
	buf_puts(&bytes, text);
	if (bytes.failed)
		return false;
	sha256_hash_bytes(bytes.data, bytes.len, sent->id);
	return true;
}

/* The text of a question to the approver, in one line; sets its id in `sent`. Owned by the caller; NULL: it failed. */
static char *ask_make_line(const struct asker *asker, struct question *question, const struct call *denied,
			   const struct call *asked)
{
	const struct question_origin origin = {asker->options.run_id, question->number,
					       asker->options.timeout_ns / NS_PER_MS};
	const struct details_options options = {policy_get_settings(denied->sandbox->policy)->name,
						asker->options.policy_sha256, question->sent.can_hold_for_run,
						asker->options.can_be_remembered};
	json_t *object = question_make_object(&origin, denied, asked);
	_cleanup_free_ char *text = NULL;
	char *line = NULL;

	if (object)
		details_add(object, &options, denied, asked);
	text = object ? json_dumps(object, JSON_COMPACT | JSON_ENSURE_ASCII) : NULL;
	if (text && ask_make_id(&question->sent, question->keys.call, text) &&
	    json_object_set_new(object, "id", json_string(question->sent.id)) == 0)
		line = json_dumps(object, JSON_COMPACT | JSON_ENSURE_ASCII);
	json_decref(object);
	return line;
}

/* Finds an open question that is equal to this one, so that its answer is for both. */
static const struct question *ask_find_equal_question(const struct asker *asker, const struct question *question)
{
	for (const struct question *each = asker->questions; each; each = each->next)
		if (strcmp(each->equality, question->equality) == 0 && each->received == ASK_NO_ANSWER_YET)
			return each;
	return NULL;
}

/* The number of open questions; equal calls have one question with one number. */
static unsigned ask_count_numbers(const struct asker *asker)
{
	unsigned count = 0;

	for (const struct question *each = asker->questions; each; each = each->next) {
		const struct question *before = asker->questions;

		while (before != each && before->number != each->number)
			before = before->next;
		count += before == each;
	}
	return count;
}

/* Sends a question to the approver, or joins it to an equal one. ASK_NO_ANSWER_YET, or why it is not asked. */
static enum ask_result ask_approver(struct asker *asker, struct question *question, const struct call *denied,
				    const struct call *asked)
{
	const struct question *equal;
	_cleanup_free_ char *line = NULL;

	if (asker->approver_is_gone)
		return ASK_APPROVER_GONE;
	details_compute_equality(denied, question->keys.call, question->equality);
	equal = ask_find_equal_question(asker, question);
	if (equal) {
		question->number = equal->number;
		question->sent = equal->sent;
		question->deadline_ns = equal->deadline_ns;
		return ASK_NO_ANSWER_YET;
	}
	if (ask_count_numbers(asker) >= APPROVAL_OPEN_QUESTIONS_MAX ||
	    !approver_rate_permits(&asker->rate, io_read_clock_ns()))
		return ASK_TOO_MANY_OPEN_QUESTIONS;
	question->sent = (struct approval_question){
		.kind = APPROVAL_QUESTION,
		.can_hold_for_run = question->keys.scope[0] &&
				    asker->always_answer_count < sizeof(asker->always) / sizeof(asker->always[0])};
	memcpy(question->sent.scope, question->keys.scope, sizeof(question->sent.scope));
	(void)stpncpy(question->sent.policy_sha256, asker->options.policy_sha256, SHA256_HEX_SIZE - 1);
	line = ask_make_line(asker, question, denied, asked);
	return line ? approver_send_question(asker->options.approver_fd, &question->sent, line, strlen(line))
		    : ASK_QUESTION_UNWRITABLE;
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
static enum ask_result ask_open_question(struct asker *asker, const struct seccomp_notif *notification,
					 const struct rejudge_keys *keys, struct call *denied, const struct call *asked)
{
	struct question *question = question_create(notification, keys, denied);
	enum ask_result word = ASK_QUESTION_UNWRITABLE;

	if (asker->open_question_count >= ASK_OPEN_QUESTIONS_MAX) {
		word = ASK_TOO_MANY_OPEN_QUESTIONS;
	} else if (question) {
		question->number = asker->last_question_number + 1;
		question->asked_ns = io_read_clock_ns();
		question->deadline_ns = question->asked_ns + asker->options.timeout_ns;
		question->answer.mode = asker_options_get_mode(&asker->options);
		word = asker->options.approver_fd >= 0 ? ask_approver(asker, question, denied, asked)
						       : ask_write_question(asker, question->number, denied, asked);
	}
	if (word != ASK_NO_ANSWER_YET) {
		question_free(question);
		return word;
	}
	if (question->number > asker->last_question_number)
		asker->last_question_number = question->number;
	question->denied_call = denied;
	denied->task = &question->task;
	denied->answer = &question->answer;
	ask_append_question(asker, question);
	return ASK_NO_ANSWER_YET;
}

/* What an answer for the run is kept by. "": it cannot be kept. */
static const char *ask_get_lasting_key(const struct asker *asker, const struct rejudge_keys *keys)
{
	return asker->options.approver_fd >= 0 ? keys->scope : keys->call;
}

/* Performs a denied call without a question, if an earlier answer was "allow-always". False: ask. */
static bool ask_perform_if_always_allowed(struct dispatch *dispatch, const struct seccomp_notif *notification,
					  const struct rejudge_keys *keys, const struct call *denied)
{
	struct asker *asker = dispatch->asker;
	struct call_answer *answer = &asker->answer_without_question;
	const char *key = ask_get_lasting_key(asker, keys);
	size_t at = 0;

	while (at < asker->always_answer_count && strcmp(asker->always[at].key, key) != 0)
		at++;
	if (key[0] == '\0' || at == asker->always_answer_count)
		return false;
	ask_set_answer_without_question(asker, asker->always[at].word, denied);
	answer->uid = asker->always[at].uid;
	answer->how = asker->always[at].how;
	return rejudge_and_perform(dispatch, &asker->options, notification,
				   &(struct rejudge_approval){keys->call, answer, denied->start_ns}) ==
	       REJUDGE_PERFORMED;
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
	struct rejudge_keys keys;
	enum ask_result word;

	if (!asker || !rejudge_can_question_be_asked(dispatch, asker_options_get_mode(&asker->options)) ||
	    !(other = calloc(1, sizeof(*other))))
		return false;
	dispatch->call = other;
	if (!rejudge_without_performing(dispatch, &asker->options, notification, &keys) ||
	    !ask_find_denial_of_outside_path(dispatch, denied)) {
		ask_restore_denied_call(dispatch, denied);
		return false;
	}
	if (ask_perform_if_always_allowed(dispatch, notification, &keys, denied)) {
		free(denied);
		return true;
	}
	word = ask_open_question(asker, notification, &keys, denied, other);
	if (word == ASK_NO_ANSWER_YET)
		return true;
	ask_set_answer_without_question(asker, word, denied);
	denied->answer = &asker->answer_without_question;
	ask_restore_denied_call(dispatch, denied);
	return false;
}

/* ---- answers ---- */

/* Keeps an answer that holds for the run. When there is no room, only this question is allowed. */
static void ask_remember_always_answer(struct asker *asker, const struct question *question, enum ask_result word)
{
	const size_t at = asker->always_answer_count;

	if (at == sizeof(asker->always) / sizeof(asker->always[0]))
		return;
	memcpy(asker->always[at].key, ask_get_lasting_key(asker, &question->keys), sizeof(asker->always[at].key));
	asker->always[at].word = word;
	asker->always[at].how = question->answer.how;
	asker->always[at].uid = question->answer.uid;
	asker->always_answer_count++;
}

/* Receives the approver's answers. An answer is for the open questions of its id; for none it has no effect. */
static void ask_receive_answers(struct asker *asker)
{
	struct approval_answer answer;
	int r;

	while ((r = approver_receive_answer(asker->options.approver_fd, &answer)) > 0)
		for (struct question *each = asker->questions; each; each = each->next) {
			if (each->received != ASK_NO_ANSWER_YET || strcmp(each->sent.id, answer.id) != 0)
				continue;
			each->received = approver_read_answer(&answer, &each->answer.how);
			if (ask_result_holds_for_run(each->received) && !each->sent.can_hold_for_run)
				each->received = ASK_ANSWER_MALFORMED;
			each->answer.uid = answer.uid;
		}
	if (r < 0)
		asker->approver_is_gone = true;
}

/* Whether another open question waits for the same answer. */
static bool ask_has_equal_question(const struct asker *asker, const struct question *question)
{
	for (const struct question *each = asker->questions; each; each = each->next)
		if (each != question && each->number == question->number)
			return true;
	return false;
}

/* Takes a question back from where it was asked. */
static void ask_remove_question(struct asker *asker, const struct question *question)
{
	if (asker->options.dir_fd >= 0)
		ask_directory_remove_question(asker->options.dir_fd, question->number);
	else if (question->received == ASK_NO_ANSWER_YET && !ask_has_equal_question(asker, question))
		approver_send_withdrawal(asker->options.approver_fd, &question->sent);
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
	if (asker->options.approver_fd >= 0)
		return question->received != ASK_NO_ANSWER_YET ? question->received
		       : gone                                  ? ASK_APPROVER_GONE
		       : now_ns >= question->deadline_ns       ? ASK_ANSWER_TIMEOUT
							       : ASK_NO_ANSWER_YET;
	if (gone)
		return ASK_DIRECTORY_GONE;
	word = ask_directory_read_answer(asker->options.dir_fd, question->number, &uid);
	if (word == ASK_ANSWER_NOT_READABLE_YET) {
		ask_report_unreadable_answer(dispatch, question->number);
		word = ASK_NO_ANSWER_YET;
	}
	if (word != ASK_NO_ANSWER_YET && word != ASK_ANSWER_UNREADABLE)
		question->answer.uid = uid;
	if (word == ASK_NO_ANSWER_YET && now_ns >= question->deadline_ns)
		return ASK_ANSWER_TIMEOUT;
	return word;
}

/* Ends a question that was taken out of the list. */
static void ask_end_question(struct dispatch *dispatch, struct question *question, enum ask_result word,
			     uint64_t now_ns)
{
	struct asker *asker = dispatch->asker;
	enum rejudge_result result = REJUDGE_THREAD_IS_DEAD;

	ask_remove_question(asker, question);
	question->answer.answer_word = ask_result_get_name(word);
	question->answer.kills_process = word == ASK_ANSWER_DENY_AND_KILL;
	question->answer.ends_run = word == ASK_ANSWER_STOP;
	question->answer.question_open_ns = now_ns - question->asked_ns;
	if (ask_result_holds_for_run(word))
		ask_remember_always_answer(asker, question, word);
	if (ask_result_allows(word))
		result = rejudge_and_perform(dispatch, &asker->options, &question->notification,
					     &(struct rejudge_approval){question->keys.call, &question->answer,
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

/* Whether an approver has answered a question, or has ended. */
static bool ask_has_answer(const struct asker *asker)
{
	for (const struct question *each = asker->questions; each; each = each->next)
		if (each->received != ASK_NO_ANSWER_YET || asker->approver_is_gone)
			return true;
	return false;
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
	if (asker->options.approver_fd >= 0)
		ask_receive_answers(asker);
	if (now_ns < asker->next_poll_ns && !ask_has_answer(asker))
		return (int)((asker->next_poll_ns - now_ns) / NS_PER_MS) + 1;
	asker->next_poll_ns = now_ns + ASK_ANSWER_POLL_INTERVAL_MS * NS_PER_MS;
	gone = asker->options.approver_fd >= 0 ? asker->approver_is_gone : ask_directory_is_gone(asker->options.dir_fd);
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
