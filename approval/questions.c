/* The open questions of an approver, and what an answer does to them. */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "approval/private.h"
#include "approval/remembered.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/text.h"
#include "base/times.h"

static const char *const answer_words[] = {
	[APPROVAL_ONCE] = "once", [APPROVAL_RUN] = "run",   [APPROVAL_REMEMBER] = "remember",
	[APPROVAL_NO] = "no",     [APPROVAL_STOP] = "stop", [APPROVAL_UNANSWERED] = "none",
};

int questions_read_line(int fd, struct approver_line *line)
{
	for (;;) {
		char byte;
		ssize_t got = read(fd, &byte, 1); /* answers are short, and a line's rest is the next answer's */

		if (got < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -errno;
		if (got == 0)
			return -EPIPE;
		if (byte == '\n')
			return 1;
		if (line->len == sizeof(line->text))
			return -EMSGSIZE;
		line->text[line->len++] = byte;
	}
}

void questions_close(struct approver *approver, struct approver_question *question, const char *why)
{
	approver->front->close(approver, question, why);
	free(question->text);
	*question = (struct approver_question){.answer_fd = -1};
}

void questions_answer(struct approver *approver, struct approver_question *question, enum approval_answer_word word,
		      enum approval_way way, uid_t uid)
{
	struct approval_answer answer = {.word = word,
					 .way = way,
					 .uid = word == APPROVAL_GONE ? -1 : (int64_t)uid,
					 .expires_s = word == APPROVAL_REMEMBER ? question->expires_s : 0};

	memcpy(answer.id, question->head.id, sizeof(answer.id));
	/* The other end has room for more answers than there are questions. When it is gone, this process ends. */
	(void)send(approver->channel_fd, &answer, sizeof(answer), MSG_NOSIGNAL | MSG_DONTWAIT);
	questions_close(approver, question, word == APPROVAL_GONE ? "gone" : "answered");
}

void questions_answer_all_gone(struct approver *approver)
{
	for (size_t i = 0; i < APPROVAL_OPEN_QUESTIONS_MAX; i++)
		if (approver->question[i].is_open)
			questions_answer(approver, &approver->question[i], APPROVAL_GONE, approver->front->way, 0);
}

struct approver_question *questions_find(struct approver *approver, const char *id)
{
	for (size_t i = 0; i < APPROVAL_OPEN_QUESTIONS_MAX; i++)
		if (approver->question[i].is_open && strcmp(approver->question[i].head.id, id) == 0)
			return &approver->question[i];
	return NULL;
}

/* ---- the supervisor's messages ---- */

struct questions_message {
	struct approval_question head;
	char *text; /* owned; NULL: no memory */
};

/* Whether an answer to a question is remembered; sets when it ends. */
static bool questions_find_remembered(struct approver *approver, struct approver_question *question)
{
	struct approver_options *options = &approver->options;

	if (!question->head.can_hold_for_run)
		return false;
	if (options->remembered_path)
		remembered_follow(options->remembered_path, &options->remembered_fd);
	if (options->remembered_fd >= 0)
		question->expires_s = remembered_find(options->remembered_fd, &question->head, (uint64_t)time(NULL));
	return question->expires_s > 0;
}

/* Opens the question of a message, whose text it takes. */
static void questions_open(struct approver *approver, struct questions_message *message)
{
	const struct approval_question *head = &message->head;
	struct approver_question *question = NULL;

	for (size_t i = 0; i < APPROVAL_OPEN_QUESTIONS_MAX; i++)
		if (!approver->question[i].is_open)
			question = &approver->question[i];
	if (!question)
		return; /* the supervisor has asked no more than that */
	*question = (struct approver_question){.is_open = true,
					       .head = *head,
					       .text = steal_pointer(&message->text),
					       .answer_fd = -1,
					       .order = ++approver->last_order};
	if (!question->text)
		questions_answer(approver, question, APPROVAL_GONE, approver->front->way, 0);
	else if (questions_find_remembered(approver, question))
		questions_answer(approver, question, APPROVAL_REMEMBER, APPROVAL_FROM_MEMORY, geteuid());
	else if (approver->front->ask(approver, question) < 0)
		questions_answer(approver, question, APPROVAL_GONE, approver->front->way, 0);
}

/* Takes a message out of the channel. 1; 0: there is none; or -errno: the supervisor has ended. */
static int questions_take_message(const struct approver *approver, struct questions_message *ret_message)
{
	static char text[APPROVAL_TEXT_BYTES_MAX];
	struct iovec part[] = {{&ret_message->head, sizeof(ret_message->head)}, {text, sizeof(text)}};
	struct msghdr message = {.msg_iov = part, .msg_iovlen = 2};
	ssize_t got = recvmsg(approver->channel_fd, &message, MSG_DONTWAIT);

	if (got < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	if ((size_t)got < sizeof(ret_message->head))
		return -EPIPE;
	ret_message->text = strndup(text, (size_t)got - sizeof(ret_message->head));
	return 1;
}

/* Does what a message says, and frees it. */
static void questions_handle_message(struct approver *approver, struct questions_message *message)
{
	struct approver_question *question;

	if (message->head.kind == APPROVAL_QUESTION)
		questions_open(approver, message);
	else if ((question = questions_find(approver, message->head.id)))
		questions_close(approver, question, APPROVAL_CLOSED_WITHDRAWN);
	free(message->text);
}

int questions_receive(struct approver *approver)
{
	struct questions_message message;
	const int r = questions_take_message(approver, &message);

	if (r > 0)
		questions_handle_message(approver, &message);
	return r;
}

/* ---- answers ---- */

/* Reads how long an answer is to be remembered. False: the text is no such time. */
static bool questions_read_expiry(const json_t *expires, uint64_t *ret_seconds)
{
	uint64_t ns;

	*ret_seconds = REMEMBERED_DEFAULT_S;
	if (!expires)
		return true;
	if (!json_is_string(expires) || text_parse_duration(json_string_value(expires), &ns) < 0 || ns < NS_PER_S ||
	    ns / NS_PER_S > REMEMBERED_LONGEST_S)
		return false;
	*ret_seconds = ns / NS_PER_S;
	return true;
}

/*
 * The answer that an object gives to a question. What cannot be held to is not taken for less: it is malformed.
 * *ret_seconds: how long APPROVAL_REMEMBER is to hold.
 */
static enum approval_answer_word questions_read_word(const struct approver *approver,
						     const struct approver_question *question, const json_t *object,
						     uint64_t *ret_seconds)
{
	const char *text = json_string_value(json_object_get(object, "answer"));
	const json_t *expires = json_object_get(object, "expires");
	enum approval_answer_word word = APPROVAL_ONCE;

	while (word <= APPROVAL_UNANSWERED && (!text || strcmp(text, answer_words[word]) != 0))
		word++;
	if (word > APPROVAL_UNANSWERED || json_object_size(object) != 2 + (expires != NULL) ||
	    (expires && word != APPROVAL_REMEMBER) || !questions_read_expiry(expires, ret_seconds))
		return APPROVAL_MALFORMED;
	if (word == APPROVAL_ONCE && question->head.cannot_be_once)
		return APPROVAL_MALFORMED;
	if ((word == APPROVAL_RUN || word == APPROVAL_REMEMBER) && !question->head.can_hold_for_run)
		return APPROVAL_MALFORMED;
	return word == APPROVAL_REMEMBER && approver->options.remembered_fd < 0 ? APPROVAL_MALFORMED : word;
}

/* Messages that came while an answer was being remembered. They are handled when it is known whether it counts. */
struct questions_meanwhile {
	struct questions_message message[2 * APPROVAL_OPEN_QUESTIONS_MAX];
	size_t count;
};

/* Takes them. Whether the supervisor still waits for the answer to this question. */
static bool questions_is_awaited(const struct approver *approver, const struct approver_question *question,
				 struct questions_meanwhile *meanwhile)
{
	bool is_withdrawn = false;
	int r = 0;

	while (meanwhile->count < sizeof(meanwhile->message) / sizeof(meanwhile->message[0]) &&
	       (r = questions_take_message(approver, &meanwhile->message[meanwhile->count])) > 0) {
		const struct approval_question *head = &meanwhile->message[meanwhile->count++].head;

		is_withdrawn =
			is_withdrawn || (head->kind == APPROVAL_WITHDRAWAL && strcmp(head->id, question->head.id) == 0);
	}
	return !is_withdrawn && r >= 0 && io_read_clock_ns() < question->head.deadline_ns;
}

/*
 * Adds an answer to the file of --approvals, which stays locked until remembered_end(fd, *ret_size, …). 0 or -errno,
 * which is reported.
 */
static int questions_remember(struct approver *approver, struct approver_question *question, uint64_t seconds,
			      off_t *ret_size)
{
	int r;

	question->expires_s = (uint64_t)time(NULL) + seconds;
	r = remembered_add(approver->options.remembered_fd, &question->head, question->text, question->expires_s,
			   ret_size);
	if (r < 0)
		(void)text_printf(stderr, "callgate: --approvals: an answer cannot be remembered, and refuses: %s\n",
				  r == -EFBIG         ? "the file has 1 MiB; remove lines that have expired"
				  : r == -EWOULDBLOCK ? "another process keeps the file locked"
						      : strerror(-r));
	return r;
}

/*
 * Gives an object as the answer to a question. An answer is remembered before the supervisor gets it, because a file
 * that cannot be written makes it malformed. That can take a while. False: the question was withdrawn meanwhile, so
 * nothing is remembered.
 */
static bool questions_give(struct approver *approver, struct approver_question *question, const json_t *object,
			   uid_t uid)
{
	struct approver_options *options = &approver->options;
	struct questions_meanwhile meanwhile = {.count = 0};
	uint64_t seconds = 0;
	off_t size;
	enum approval_answer_word word;
	bool is_awaited = true;

	if (options->remembered_path)
		remembered_follow(options->remembered_path, &options->remembered_fd);
	word = questions_read_word(approver, question, object, &seconds);
	if (word == APPROVAL_REMEMBER && questions_remember(approver, question, seconds, &size) < 0) {
		word = APPROVAL_MALFORMED;
	} else if (word == APPROVAL_REMEMBER) {
		is_awaited = questions_is_awaited(approver, question, &meanwhile);
		remembered_end(options->remembered_fd, size, is_awaited);
	}
	if (is_awaited)
		questions_answer(approver, question, word, approver->front->way, uid);
	for (size_t i = 0; i < meanwhile.count; i++)
		questions_handle_message(approver, &meanwhile.message[i]);
	return is_awaited;
}

bool questions_take_answer(struct approver *approver, struct approver_question *only, const json_t *object, uid_t uid)
{
	const char *id = json_string_value(json_object_get(object, "id"));
	struct approver_question *question = id ? questions_find(approver, id) : NULL;

	if (only && question != only) {
		questions_answer(approver, only, APPROVAL_MALFORMED, approver->front->way, uid);
	} else if (id && !(question && questions_give(approver, question, object, uid)) &&
		   !approver->has_reported_stray_answer) {
		approver->has_reported_stray_answer = true;
		(void)text_printf(stderr, "callgate: --approve: an answer is for no open question (late, a second one, "
					  "or another question's); it has no effect\n");
	}
	return id != NULL;
}

bool questions_take_answer_line(struct approver *approver, struct approver_question *only,
				const struct approver_line *line, uid_t uid)
{
	json_t *object = json_loadb(line->text, line->len, JSON_REJECT_DUPLICATES, NULL);
	bool is_answer = questions_take_answer(approver, only, object, uid);

	json_decref(object);
	return is_answer;
}
