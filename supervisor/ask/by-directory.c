/* Questions in the files of a directory: --ask. */
#include <string.h>

#include "base/cleanup.h"
#include "supervisor/ask/way.h"
#include "supervisor/dispatch-call.h"
#include "supervisor/on-deny.h"

static enum ask_result by_directory_ask(struct asker *asker, struct question *question, const struct call *denied,
					const struct call *asked)
{
	const struct question_origin origin = question_get_origin(asker, question);
	_cleanup_free_ char *text = NULL;
	bool is_whole;

	if (ask_directory_is_gone(asker->options.dir_fd))
		return ASK_DIRECTORY_GONE;
	question_begin_making();
	text = question_make_text(&origin, denied, asked);
	is_whole = question_end_making();
	if (!is_whole || !text ||
	    ask_directory_write_question(asker->options.dir_fd, question->number, text, strlen(text)) < 0)
		return ASK_QUESTION_UNWRITABLE;
	return ASK_NO_ANSWER_YET;
}

/* Nothing announces an answer file. */
static bool by_directory_receive(struct asker *asker)
{
	(void)asker;
	return false;
}

/* Tells the user, by the keeper and once a run, that callgate may not read an answer. */
static void by_directory_report_unreadable_answer(const struct dispatch *dispatch, uint64_t number)
{
	const struct stop_notices *notices = dispatch->sandbox->stop_notices;

	if (!notices || notices->shared_page->unreadable_answer)
		return;
	notices->shared_page->unreadable_answer = number;
	on_deny_send_byte_to_keeper(notices, RUN_BYTE_ANSWER_UNREADABLE);
}

static enum ask_result by_directory_find_answer(const struct dispatch *dispatch, struct question *question)
{
	const int dir_fd = dispatch->asker->options.dir_fd;
	enum ask_result word;
	uid_t uid = 0;

	if (ask_directory_is_gone(dir_fd))
		return ASK_DIRECTORY_GONE;
	word = ask_directory_read_answer(dir_fd, question->number, &uid);
	if (word == ASK_ANSWER_NOT_READABLE_YET) {
		by_directory_report_unreadable_answer(dispatch, question->number);
		return ASK_NO_ANSWER_YET;
	}
	if (word != ASK_NO_ANSWER_YET && word != ASK_ANSWER_UNREADABLE)
		question->answer.uid = uid;
	return word;
}

static void by_directory_close(struct asker *asker, const struct question *question)
{
	ask_directory_remove_question(asker->options.dir_fd, question->number);
}

static const char *by_directory_get_lasting_key(const struct rejudge_keys *keys)
{
	return keys->call;
}

const struct ask_way ask_by_directory = {
	.mode = ON_DENY_ASK_FILE,
	.ask = by_directory_ask,
	.receive = by_directory_receive,
	.find_answer = by_directory_find_answer,
	.close = by_directory_close,
	.get_lasting_key = by_directory_get_lasting_key,
};
