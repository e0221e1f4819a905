/* The open questions of a run, and the answers that hold for it. For calls (ask.c) and requests (requests.c). */
#include "supervisor/ask/question-list.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/io.h"

void question_free(struct question *question)
{
	if (!question)
		return;
	free(question->denied_call);
	free(question->task.exe);
	free(question);
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

enum ask_result question_list_ask(struct asker *asker, struct question *question, const struct call *denied,
				  const struct call *asked)
{
	enum ask_result word;

	if (asker->open_question_count >= ASK_OPEN_QUESTIONS_MAX)
		return ASK_TOO_MANY_OPEN_QUESTIONS;
	question->number = asker->last_question_number + 1;
	question->asked_ns = io_read_clock_ns();
	question->deadline_ns = question->asked_ns + asker->options.timeout_ns;
	question->answer.mode = asker->way->mode;
	word = asker->way->ask(asker, question, denied, asked);
	if (word != ASK_NO_ANSWER_YET)
		return word;
	if (question->number > asker->last_question_number)
		asker->last_question_number = question->number;
	ask_append_question(asker, question);
	return ASK_NO_ANSWER_YET;
}

/* The time by which remembered answers expire. Its clock may be set: CLOCK_REALTIME. */
static uint64_t ask_read_wall_clock_s(void)
{
	struct timespec now = {0};

	return clock_gettime(CLOCK_REALTIME, &now) < 0 ? UINT64_MAX : (uint64_t)now.tv_sec;
}

size_t question_list_find_lasting_answer(const struct asker *asker, const char *key)
{
	const uint64_t now_s = ask_read_wall_clock_s();
	size_t at = 0;

	while (at < asker->always_answer_count &&
	       (key[0] == '\0' || strcmp(asker->always[at].key, key) != 0 || asker->always[at].expires_s <= now_s))
		at++;
	return at;
}

/* The place for a new answer: that of one that has expired, or the next. The size of always[]: there is no room. */
static size_t ask_find_place_of_answer(const struct asker *asker)
{
	const uint64_t now_s = ask_read_wall_clock_s();
	size_t at = 0;

	while (at < asker->always_answer_count && asker->always[at].expires_s > now_s)
		at++;
	return at;
}

static void ask_note_refused_connection(struct asker *asker, const struct question *question, uint64_t now_ns)
{
	if (question->request || !question->denied_call->net.host[0])
		return;
	memcpy(asker->refused_connection.scope, question->keys.scope, sizeof(asker->refused_connection.scope));
	asker->refused_connection.pid = question->task.tgid;
	asker->refused_connection.until_ns = now_ns + ASK_REFUSED_CONNECTION_HOLDS_MS * NS_PER_MS;
	asker->refused_connection.answer = question->answer;
	asker->refused_connection.answer.question_open_ns = 0;
}

/* Keeps an answer that holds for more than its call, once. When there is no room, only this question is allowed. */
static void ask_remember_always_answer(struct asker *asker, const struct question *question, enum ask_result word)
{
	const char *key = asker->way->get_lasting_key(&question->keys);
	const size_t at = ask_find_place_of_answer(asker);

	if (at == sizeof(asker->always) / sizeof(asker->always[0]) ||
	    question_list_find_lasting_answer(asker, key) < asker->always_answer_count)
		return;
	memcpy(asker->always[at].key, key, sizeof(asker->always[at].key));
	asker->always[at].word = word;
	asker->always[at].how = question->answer.how;
	asker->always[at].uid = question->answer.uid;
	asker->always[at].expires_s = word == ASK_ANSWER_REMEMBER ? question->expires_s : UINT64_MAX;
	asker->always_answer_count += at == asker->always_answer_count;
}

void question_list_close(struct asker *asker, struct question *question, enum ask_result word, uint64_t now_ns)
{
	asker->way->close(asker, question);
	question->answer.answer_word = ask_result_get_name(word);
	question->answer.kills_process = word == ASK_ANSWER_DENY_AND_KILL;
	question->answer.ends_run = word == ASK_ANSWER_STOP;
	question->answer.question_open_ns = now_ns - question->asked_ns;
	if (ask_result_holds_for_run(word))
		ask_remember_always_answer(asker, question, word);
	if (word == ASK_ANSWER_NO)
		ask_note_refused_connection(asker, question, now_ns);
}

static bool question_list_has_thread(const struct question *questions, pid_t tid)
{
	for (const struct question *each = questions; each; each = each->next)
		if (!each->request && (pid_t)each->notification.pid == tid)
			return true;
	return false;
}

bool question_list_serves_thread(const struct asker *asker, pid_t tid)
{
	return question_list_has_thread(asker->questions, tid) ||
	       question_list_has_thread(asker->questions_of_changed_calls, tid);
}
