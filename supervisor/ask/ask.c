#include "supervisor/ask/ask.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "policy/paths/move.h"
#include "policy/policy.h"
#include "supervisor/ask/again.h"
#include "supervisor/ask/question-list.h"
#include "supervisor/ask/request.h"
#include "supervisor/dispatch-call.h"
#include "supervisor/outcome.h"
#include "syscalls/exec/execve.h"

int asker_create(const struct asker_options *options, struct asker **ret_asker)
{
	struct asker *asker = calloc(1, sizeof(*asker));

	if (!asker)
		return -ENOMEM;
	asker->options = *options;
	asker->way = options->approver_fd >= 0 ? &ask_by_approver : &ask_by_directory;
	*ret_asker = asker;
	return 0;
}

void asker_free(struct asker *asker)
{
	free(asker);
}

static void cleanup_exec_plan(struct exec_plan **plan)
{
	exec_plan_free(*plan);
}
#define _cleanup_exec_plan_ __attribute__((cleanup(cleanup_exec_plan)))

/* ---- asking ---- */

/* Whether the call, of two paths, may give another name to the directory at a place. */
static bool ask_directory_may_move(const struct call *call, const struct place *place)
{
	_cleanup_close_ int fd = -1;

	if (!call->resolved_place[1].mount)
		return false;
	fd = view_open_place(place, O_PATH | O_DIRECTORY | O_NOFOLLOW, 0);
	return fd != -ENOTDIR && fd != -ENOENT; /* another error, such as EMFILE, does not tell that it is none */
}

/*
 * Whether each rule that denies an object of the call, as the second view finds it, is asked about. The denial may name
 * a rule that asks, of a directory above the object or of the other one of two paths. No answer beats the object's own.
 */
static bool ask_rules_of_objects_ask(const struct dispatch *dispatch)
{
	const struct call *call = dispatch->call;
	const struct policy *policy = dispatch->sandbox->policy;

	for (size_t i = 0; i < sizeof(call->resolved_place) / sizeof(call->resolved_place[0]); i++) {
		const struct place *place = &call->resolved_place[i];
		struct policy_decision decision;

		if (!place->mount || place->is_magic_link)
			continue;
		if (ask_directory_may_move(call, place) &&
		    policy_has_deny_below(policy, place->virt, dispatch->asker->way->mode))
			return false; /* under another name, the rule would not deny what is in it */
		decision = policy_decide_access(policy, place->virt, place->virt_len, POLICY_READ);
		if (decision.verdict == VERDICT_DENY && decision.rule &&
		    policy_find_on_deny(policy, decision.rule) != dispatch->asker->way->mode)
			return false;
	}
	return true;
}

/*
 * Whether both judgements of a call have read the same names. The program may have changed them in between. The second
 * one may have read more: the interpreter of a script.
 */
static bool ask_names_are_same(const struct call *denied, const struct call *asked)
{
	bool same = denied->path_count <= asked->path_count && strcmp(denied->net.host, asked->net.host) == 0 &&
		    (!denied->net.host[0] || denied->net.audit_net.port == asked->net.audit_net.port);

	for (unsigned i = 0; i < denied->path_count && same; i++) {
		const struct call_path *one = &denied->path[i], *other = &asked->path[i];

		same = one->error == other->error && one->is_null_pointer == other->is_null_pointer &&
		       (one->error || one->is_null_pointer ||
			(one->len == other->len && memcmp(one->text, other->text, one->len) == 0));
	}
	return same;
}

/*
 * Finds what the policy denies of the objects of the call, as the second view finds them. False: it denies one of them,
 * and that is not asked about. *ret_denial: the first denial; its error is 0 if there is none.
 */
static bool ask_denials_of_objects_ask(const struct dispatch *dispatch, struct policy_observed_denial *ret_denial)
{
	const struct call *call = dispatch->call;
	const struct asker *asker = dispatch->asker;

	*ret_denial = (struct policy_observed_denial){0};
	for (size_t i = 0; i < sizeof(call->resolved_place) / sizeof(call->resolved_place[0]); i++) {
		const struct place *place = &call->resolved_place[i];
		struct policy_observed_denial denial;

		if (!place->mount)
			continue;
		/* link(2) and rename(2) want the same right on both paths */
		denial = view_judge_place(asker->options.view, call->task, place, call->decision.wanted_rights)
				 .observed_denial;
		if (denial.error && policy_find_on_deny(dispatch->sandbox->policy, denial.rule) != asker->way->mode)
			return false;
		if (denial.error && !ret_denial->error)
			*ret_denial = denial;
	}
	return true;
}

/*
 * Makes `denied` the denial of the object that the path leads to in the second view. The first view may have ended the
 * walk at a directory above, which it does not show: with ENOENT, or with a denial by another rule or none. False: the
 * policy grants that object, or its denial is not asked about, or the program has changed the names of the call.
 */
static bool ask_find_denial_of_object(const struct dispatch *dispatch, struct call *denied)
{
	const struct call *asked = dispatch->call;
	const bool is_denied = denied->decision.verdict == VERDICT_DENY;
	/* these are judged by another policy than that which observes */
	const bool is_exec_or_net = asked->row->basis == BASIS_EXEC || asked->net.host[0];
	struct policy_observed_denial denial = {0};

	if (!ask_names_are_same(denied, asked) || !ask_rules_of_objects_ask(dispatch) ||
	    (!is_exec_or_net && !ask_denials_of_objects_ask(dispatch, &denial)))
		return false;
	if (!denial.error)
		return is_denied && policy_find_on_deny(dispatch->sandbox->policy, denied->decision.rule) ==
					    dispatch->asker->way->mode;
	if (!is_denied)
		(void)call_refuse(denied, -ENOENT, denial.rule, denial.reason);
	denied->decision.wanted_rights = asked->decision.wanted_rights;
	denied->decision.rule = denial.rule;
	denied->decision.reason = denial.reason;
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

static struct question *question_create(const struct seccomp_notif *notification, const struct rejudge_keys *keys,
					const struct call *denied)
{
	struct question *question = calloc(1, sizeof(*question));

	if (!question)
		return NULL;
	question->notification = *notification;
	question->keys = *keys;
	question->task = task_make_copy(denied->task, strdup(denied->task->exe));
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
	asker->answer_without_question = (struct call_answer){.mode = asker->way->mode,
							      .answer_word = ask_result_get_name(word),
							      .uid = -1,
							      .rule = denied->decision.rule,
							      .reason = denied->decision.reason};
}

/*
 * Opens a question about the call `denied`, and then owns that call. ASK_NO_ANSWER_YET, or the reason why no question
 * was opened.
 */
static enum ask_result ask_open_question(struct asker *asker, const struct seccomp_notif *notification,
					 const struct rejudge_keys *keys, struct call *denied, const struct call *asked)
{
	struct question *question = question_create(notification, keys, denied);
	enum ask_result word = question ? question_list_ask(asker, question, denied, asked) : ASK_QUESTION_UNWRITABLE;

	if (word != ASK_NO_ANSWER_YET) {
		question_free(question);
		return word;
	}
	question->denied_call = denied;
	denied->task = &question->task;
	denied->answer = &question->answer;
	return ASK_NO_ANSWER_YET;
}

/*
 * Performs a denied call without a question, or begins to, if an earlier answer was "allow-always". False: it did
 * not. With *ret_has_changed, dispatch->call is not the call of the keys any more, and there must be no question about
 * it.
 */
static bool ask_perform_if_always_allowed(struct dispatch *dispatch, const struct seccomp_notif *notification,
					  const struct rejudge_keys *keys, const struct call *denied,
					  bool *ret_has_changed)
{
	struct asker *asker = dispatch->asker;
	struct call_answer *answer = &asker->answer_without_question;
	const size_t at = question_list_find_lasting_answer(asker, asker->way->get_lasting_key(keys));
	enum rejudge_result result;

	*ret_has_changed = false;
	if (at == asker->always_answer_count)
		return false;
	ask_set_answer_without_question(asker, asker->always[at].word, denied);
	answer->uid = asker->always[at].uid;
	answer->how = asker->always[at].how;
	result = rejudge_and_perform(dispatch, &asker->options, notification,
				     &(struct rejudge_approval){keys->call, answer, denied->start_ns});
	/* one that waits for a copy comes back as a denied call */
	*ret_has_changed = result != REJUDGE_PERFORMED && result != REJUDGE_COPIES_FIRST;
	return !*ret_has_changed;
}

/* Whether "no" has just refused the same process this endpoint: the denial has the same answer then. */
static bool ask_was_connection_just_refused(struct asker *asker, const struct call *denied, const char *scope)
{
	if (!denied->net.host[0] || denied->task->tgid != asker->refused_connection.pid ||
	    strcmp(scope, asker->refused_connection.scope) != 0 ||
	    io_read_clock_ns() >= asker->refused_connection.until_ns)
		return false;
	asker->answer_without_question = asker->refused_connection.answer;
	return true;
}

/*
 * Makes the denied call dispatch->call again, and frees the other one. Looks its task up again, because the pointer was
 * valid only until the second judgement looked the task up.
 */
static void ask_restore_denied_call(struct dispatch *dispatch, struct call *denied)
{
	struct call *other = dispatch->call;

	dispatch->call = denied;
	denied->task = task_table_find_task(dispatch->sandbox->tree, denied->tid);
	if (!denied->task) {
		denied->task = other->task;
		outcome_release(&denied->outcome); /* a copy that it was to wait for */
		(void)call_end_without_response(denied);
	}
	outcome_release(&other->outcome); /* the plan of an exec that is not asked about */
	free(other);
}

/* Lets a denied call wait for a copy. It keeps the errno with which it fails if its thread is killed meanwhile. */
static void ask_let_denied_call_copy(struct call *denied, struct outcome *outcome)
{
	denied->outcome.kind = OUTCOME_COPY_FIRST;
	denied->outcome.fd = steal_fd(&outcome->fd);
	denied->outcome.blocking_work = steal_pointer(&outcome->blocking_work);
}

bool ask_about_denial(struct dispatch *dispatch, const struct seccomp_notif *notification)
{
	struct asker *asker = dispatch->asker;
	struct call *denied = dispatch->call, *other;
	_cleanup_exec_plan_ struct exec_plan *plan = NULL; /* of an exec; the question shows it */
	struct rejudge_keys keys;
	enum ask_result word;
	bool has_changed;

	if (!asker || !rejudge_can_question_be_asked(dispatch, asker->way->mode) ||
	    !(other = calloc(1, sizeof(*other))))
		return false;
	dispatch->call = other;
	if (!rejudge_without_performing(dispatch, &asker->options, notification, &keys) ||
	    !ask_find_denial_of_object(dispatch, denied)) {
		if (other->outcome.kind == OUTCOME_COPY_FIRST)
			ask_let_denied_call_copy(denied, &other->outcome);
		ask_restore_denied_call(dispatch, denied);
		return false;
	}
	plan = steal_pointer(&other->outcome.exec_plan);
	if (ask_perform_if_always_allowed(dispatch, notification, &keys, denied, &has_changed)) {
		free(denied);
		return true;
	}
	if (has_changed) {
		ask_restore_denied_call(dispatch, denied);
		return false;
	}
	if (!ask_was_connection_just_refused(asker, denied, keys.scope)) {
		other->outcome.exec_plan = plan;
		word = ask_open_question(asker, notification, &keys, denied, other);
		other->outcome.exec_plan = NULL;
		if (word == ASK_NO_ANSWER_YET)
			return true;
		ask_set_answer_without_question(asker, word, denied);
	}
	denied->answer = &asker->answer_without_question;
	ask_restore_denied_call(dispatch, denied);
	return false;
}

/* ---- answers ---- */

/* Returns why a question ends: its answer, its deadline, or the end of its call. ASK_NO_ANSWER_YET: it stays open. */
static enum ask_result ask_find_why_question_ends(const struct dispatch *dispatch, struct question *question,
						  uint64_t now_ns)
{
	enum ask_result word;

	if (!question->request && !call_thread_still_waits(question->denied_call))
		return ASK_QUESTION_WITHDRAWN;
	word = dispatch->asker->way->find_answer(dispatch, question);
	return word == ASK_NO_ANSWER_YET && now_ns >= question->deadline_ns ? ASK_ANSWER_TIMEOUT : word;
}

/*
 * "once" is for one execution. Other threads that wait with the same question are asked about anew, like new calls.
 * Calls that name files need no such care: made again they change nothing more, or they are other calls by then.
 */
static void ask_anew_about_equal_execs(struct asker *asker, const struct question *question)
{
	struct question **link = &asker->questions;

	while (*link) {
		struct question *each = *link;

		if (each->number != question->number) {
			link = &each->next;
			continue;
		}
		*link = each->next;
		asker->open_question_count--;
		each->next = asker->questions_of_changed_calls;
		asker->questions_of_changed_calls = each;
	}
}

/* Performs the call of an approved question, and frees the question; or keeps it until the call is judged again. */
static void ask_perform_approved(struct dispatch *dispatch, struct question *question)
{
	struct asker *asker = dispatch->asker;
	const enum rejudge_result result = rejudge_and_perform(
		dispatch, &asker->options, &question->notification,
		&(struct rejudge_approval){question->keys.call, &question->answer, question->denied_call->start_ns});

	if (result == REJUDGE_CALL_CHANGED || result == REJUDGE_COPIES_FIRST) {
		struct question **list = result == REJUDGE_COPIES_FIRST ? &asker->questions_of_copying_calls
									: &asker->questions_of_changed_calls;

		question->next = *list;
		*list = question;
		return;
	}
	if (result == REJUDGE_CANNOT_COPY)
		question->denied_call->outcome.value = -ENOMEM;
	if (result != REJUDGE_PERFORMED &&
	    !(result == REJUDGE_THREAD_IS_DEAD && dispatch_record_killed_call(dispatch, &question->notification)))
		ask_deny_call_of_question(dispatch, question);
	question_free(question);
}

/* Ends a question that was taken out of the list. */
static void ask_end_question(struct dispatch *dispatch, struct question *question, enum ask_result word,
			     uint64_t now_ns)
{
	struct asker *asker = dispatch->asker;

	question_list_close(asker, question, word, now_ns);
	if (question->request) {
		ask_answer_request(dispatch, question->request, &question->answer, ask_result_allows(word));
		question_free(question);
		return;
	}
	if (word == ASK_ANSWER_ONCE && question->denied_call->row->basis == BASIS_EXEC)
		ask_anew_about_equal_execs(asker, question);
	if (ask_result_allows(word)) {
		ask_perform_approved(dispatch, question);
		return;
	}
	ask_deny_call_of_question(dispatch, question);
	question_free(question);
}

bool ask_continue_after_copy(struct dispatch *dispatch, uint64_t id)
{
	struct question **link = dispatch->asker ? &dispatch->asker->questions_of_copying_calls : NULL, *question;

	while (link && *link && (*link)->notification.id != id)
		link = &(*link)->next;
	if (!link || !*link)
		return false;
	question = *link;
	*link = question->next;
	ask_perform_approved(dispatch, question);
	return true;
}

/* Takes the first question that ends out of the list. may_perform: as ask_poll_open_questions(). NULL: none does. */
static struct question *ask_take_ended_question(const struct dispatch *dispatch, uint64_t now_ns, bool may_perform,
						enum ask_result *ret_word)
{
	struct asker *asker = dispatch->asker;

	for (struct question **link = &asker->questions; *link; link = &(*link)->next) {
		struct question *question = *link;

		*ret_word = ask_find_why_question_ends(dispatch, question, now_ns);
		if (*ret_word == ASK_NO_ANSWER_YET ||
		    (!may_perform && !question->request && ask_result_allows(*ret_word)))
			continue;
		*link = question->next;
		asker->open_question_count--;
		return question;
	}
	return NULL;
}

int ask_poll_open_questions(struct dispatch *dispatch, bool may_perform)
{
	struct asker *asker = dispatch->asker;
	struct question *question;
	enum ask_result word;
	uint64_t now_ns;

	if (!asker || (!asker->questions && asker->withdrawals.count == 0))
		return -1;
	now_ns = io_read_clock_ns();
	if (!asker->way->receive(asker) && now_ns < asker->next_poll_ns)
		return (int)((asker->next_poll_ns - now_ns) / NS_PER_MS) + 1;
	asker->next_poll_ns = now_ns + ASK_ANSWER_POLL_INTERVAL_MS * NS_PER_MS;
	/*
	 * From the first one again each time: an approved connect(2) reads what egress has sent, which may withdraw any
	 * other question, or open one.
	 */
	while (!dispatch->sandbox->is_filling &&
	       (question = ask_take_ended_question(dispatch, now_ns, may_perform, &word)))
		ask_end_question(dispatch, question, word, now_ns);
	return asker->questions || asker->withdrawals.count > 0 ? ASK_ANSWER_POLL_INTERVAL_MS : -1;
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
	while (asker && asker->questions_of_copying_calls) { /* closed; dispatch_end_copies() records the calls */
		struct question *question = asker->questions_of_copying_calls;

		asker->questions_of_copying_calls = question->next;
		question_free(question);
	}
}
