/*
 * What a hostile or confused front may answer to the approver's questions: lines of JSON. Each question is answered
 * once at most, only what it offers is granted, and what is remembered can be read again and holds for nothing else.
 * The first byte says: bit 0: "run" and "remember" are offered; bit 1: there is a file of --approvals; bit 2: each line
 * must be for the first question.
 */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "approval/private.h"
#include "approval/remembered.h"
#include "approval/show.h"
#include "tests/fuzz/fuzz.h"

#define QUESTIONS 3
#define FRONT_UID 1234

static unsigned closed;

static void on_close(struct approver *approver, struct approver_question *question, const char *why)
{
	(void)approver;
	promise(question->is_open && (strcmp(why, "answered") == 0 || strcmp(why, "gone") == 0));
	closed++;
}

static const struct approver_front front = {.way = APPROVAL_BY_SOCKET, .close = on_close};

/* Ids and scopes are one hexadecimal digit, again and again. */
static void open_questions(struct approver *approver, bool can_hold_for_run)
{
	for (unsigned i = 0; i < QUESTIONS; i++) {
		struct approver_question *question = &approver->question[i];

		*question = (struct approver_question){.is_open = true, .answer_fd = -1};
		question->head.can_hold_for_run = can_hold_for_run;
		memset(question->head.id, 'a' + (int)i, SHA256_HEX_SIZE - 1);
		memset(question->head.scope, '1' + (int)i, SHA256_HEX_SIZE - 1);
		memset(question->head.policy_sha256, '0', SHA256_HEX_SIZE - 1);
		question->text = strdup("{\"path\": \"/x\", \"wants\": [\"read\"]}");
		promise(question->text != NULL);
	}
}

/* Reads one answer as the supervisor gets it. Returns which question it is for; QUESTIONS: there is none. */
static unsigned receive(int fd, const struct approver *approver, struct approval_answer *answer)
{
	ssize_t got = recv(fd, answer, sizeof(*answer), MSG_DONTWAIT);
	unsigned which;

	if (got < 0)
		return QUESTIONS;
	which = (unsigned)(answer->id[0] - 'a');
	promise(got == sizeof(*answer) && which < QUESTIONS && !approver->question[which].is_open);
	promise(answer->way == APPROVAL_BY_SOCKET && answer->uid == FRONT_UID);
	return which;
}

/* What one answer says agrees with what was offered, and with the file. */
static void check_answer(const struct approver *approver, bool offers_run, unsigned which,
			 const struct approval_answer *answer)
{
	struct approval_question asked = {0};
	const int fd = approver->options.remembered_fd;

	promise(answer->word <= APPROVAL_MALFORMED);
	promise(offers_run || (answer->word != APPROVAL_RUN && answer->word != APPROVAL_REMEMBER));
	promise(fd >= 0 || answer->word != APPROVAL_REMEMBER);
	memset(asked.scope, '1' + (int)which, SHA256_HEX_SIZE - 1);
	memset(asked.policy_sha256, '0', SHA256_HEX_SIZE - 1);
	promise(fd < 0 ||
		(remembered_find(fd, &asked, (uint64_t)time(NULL)) > 0) == (answer->word == APPROVAL_REMEMBER));
	promise(fd < 0 || !remembered_find(fd, &asked, (uint64_t)time(NULL) + REMEMBERED_LONGEST_S + 2));
	memset(asked.policy_sha256, '9', SHA256_HEX_SIZE - 1);
	promise(fd < 0 || !remembered_find(fd, &asked, (uint64_t)time(NULL)));
}

static void take_lines(struct approver *approver, const uint8_t *data, size_t size, bool only_first)
{
	while (size > 0) {
		const uint8_t *end = memchr(data, '\n', size);
		size_t len = end ? (size_t)(end - data) : size;
		struct approver_question *only =
			only_first && approver->question[0].is_open ? approver->question : NULL;
		struct approver_line line = {.len = len};
		const unsigned before = closed;

		if (len > sizeof(line.text) || (only_first && !only))
			return;
		memcpy(line.text, data, len);
		(void)questions_take_answer_line(approver, only, &line, FRONT_UID);
		promise(closed - before <= 1 && (!only || closed - before == 1));
		data += len + (end != NULL);
		size -= len + (end != NULL);
	}
}

static void check_quoted(const char *out, size_t size)
{
	const size_t len = strnlen(out, size);

	promise(len >= 2 && len < size && out[0] == '"' && out[len - 1] == '"');
	for (size_t i = 0; i < len; i++)
		promise(out[i] >= ' ' && out[i] <= '~');
	for (size_t i = 1; i + 1 < len; i++)
		if (out[i] == '\\' && out[i + 1] == '.')
			i += strcspn(out + i + 1, "\\") + 1; /* bytes that were left out */
		else if (out[i] == '\\')
			i++;
		else
			promise(out[i] != '"');
}

static void check_shown(const uint8_t *data, size_t size)
{
	char out[SHOW_BYTES_MAX], whole[SHOW_LONG_BYTES_MAX];
	size_t hidden;

	show_text(out, (const char *)data, size);
	check_quoted(out, sizeof(out));
	hidden = show_long_text(whole, (const char *)data, size);
	check_quoted(whole, sizeof(whole));
	promise(hidden ? strcmp(out, whole) == 0 : strlen(whole) >= size + 2);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct approver approver;
	struct approval_answer answer;
	unsigned answers = 0, which;
	int pair[2];

	if (size == 0)
		return 0;
	check_shown(data, size);
	promise(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
	approver = (struct approver){.front = &front, .channel_fd = pair[0], .has_reported_stray_answer = true};
	approver.options.remembered_fd = data[0] & 2 ? memfd_create("approvals", MFD_CLOEXEC) : -1;
	open_questions(&approver, data[0] & 1);
	closed = 0;
	take_lines(&approver, data + 1, size - 1, data[0] & 4);
	while ((which = receive(pair[1], &approver, &answer)) < QUESTIONS) {
		check_answer(&approver, data[0] & 1, which, &answer);
		answers++;
	}
	promise(answers == closed && answers <= QUESTIONS);
	for (unsigned i = 0; i < QUESTIONS; i++)
		free(approver.question[i].text);
	(void)close(pair[0]);
	(void)close(pair[1]);
	if (approver.options.remembered_fd >= 0)
		(void)close(approver.options.remembered_fd);
	return 0;
}
