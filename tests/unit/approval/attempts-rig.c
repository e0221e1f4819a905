/* An approver with two open questions, for test_attempts. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "supervisor/ask/approver.h"
#include "tests/unit/approval/attempts.h"

void attempt_fill(char id[SHA256_HEX_SIZE], char digit)
{
	memset(id, digit, SHA256_HEX_SIZE - 1);
	id[SHA256_HEX_SIZE - 1] = '\0';
}

size_t attempt_expand(const struct attempt *attempt, char out[TEXT_BYTES_MAX])
{
	static const char names[] = "ABCSP", digits[] = "abc12";
	size_t len = 0;

	for (size_t i = 0; i < attempt->len; i++) {
		const char *name = attempt->bytes[i] == '$' && i + 1 < attempt->len && attempt->bytes[i + 1]
					   ? strchr(names, attempt->bytes[i + 1])
					   : NULL;

		ck_assert_uint_lt(len + SHA256_HEX_SIZE, TEXT_BYTES_MAX);
		if (name) {
			attempt_fill(out + len, digits[name - names]);
			len += SHA256_HEX_SIZE - 1;
			i++;
		} else {
			out[len++] = attempt->bytes[i];
		}
	}
	return len;
}

void rig_open_question(struct rig *rig, unsigned at, bool offers_run)
{
	struct approver_question *question = &rig->approver.question[at];
	const char *more = offers_run ? "\"run\", \"remember\", " : "";

	*question = (struct approver_question){.is_open = true, .answer_fd = -1, .order = at + 1};
	question->head.can_hold_for_run = offers_run;
	question->head.deadline_ns = UINT64_MAX;
	attempt_fill(question->head.id, (char)('a' + at));
	attempt_fill(question->head.scope, (char)('1' + at));
	attempt_fill(question->head.policy_sha256, '2');
	ck_assert_int_gt(asprintf(&question->text,
				  "{\"seq\": %u, \"shown\": [\"wants to: read\"], \"answers\": [\"once\", %s\"no\"]}",
				  at + 1, more),
			 0);
	ck_assert_int_eq(rig->approver.front->ask(&rig->approver, question), 0);
}

void rig_make(struct rig *rig, const struct approver_front *front, unsigned flags)
{
	int pair[2];

	*rig = (struct rig){.approver = {.front = front, .has_reported_stray_answer = true}, .front_fd = -1};
	for (size_t i = 0; i < APPROVAL_OPEN_QUESTIONS_MAX; i++)
		rig->approver.question[i].answer_fd = -1;
	rig->approver.options = (struct approver_options){
		.socket_fd = -1, .terminal_fd = -1, .remembered_fd = flags & HAS_FILE ? memfd_create("kept", 0) : -1};
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	rig->approver.channel_fd = pair[0];
	rig->supervisor_fd = pair[1];
}

void rig_free(struct rig *rig)
{
	for (size_t i = 0; i < APPROVAL_OPEN_QUESTIONS_MAX; i++)
		if (rig->approver.question[i].is_open)
			questions_close(&rig->approver, &rig->approver.question[i], "withdrawn");
	buf_release(&rig->approver.output);
	(void)close(rig->approver.channel_fd);
	(void)close(rig->supervisor_fd);
	for (size_t i = 0; i < 4; i++) {
		const int fds[] = {rig->front_fd, rig->approver.options.socket_fd, rig->approver.options.terminal_fd,
				   rig->approver.options.remembered_fd};

		if (fds[i] >= 0)
			(void)close(fds[i]);
	}
}

void rig_handle(struct rig *rig, int wait_ms)
{
	struct pollfd ready[FRONT_FDS_MAX];

	do {
		for (size_t i = 0; i < FRONT_FDS_MAX; i++)
			ready[i] = (struct pollfd){.fd = -1};
		rig->approver.front->watch(&rig->approver, ready);
		if (poll(ready, FRONT_FDS_MAX, wait_ms) <= 0)
			return;
		rig->approver.front->handle(&rig->approver, ready);
	} while (rig->approver.question[0].is_open || rig->approver.question[1].is_open);
}

void rig_expect(struct rig *rig, const char *sentence, const char *expected)
{
	static const char *const words[APPROVAL_WORD_MAX] = {"once", "run",        "remember",  "no",
							     "stop", "unanswered", "malformed", "gone"};
	struct approval_answer answer;
	char got[256] = "";

	while (approver_receive_answer(rig->supervisor_fd, &answer) > 0) {
		ck_assert_uint_lt(answer.word, APPROVAL_WORD_MAX);
		(void)snprintf(got + strlen(got), sizeof(got) - strlen(got), "%c %s; ", answer.id[0] - 'a' + 'A',
			       words[answer.word]);
	}
	ck_assert_msg(strcmp(got, expected) == 0, "%s: the supervisor gets \"%s\", and not \"%s\"", sentence, got,
		      expected);
}

void attempt_write(int fd, const char *bytes, size_t len)
{
	ck_assert_int_eq(write(fd, bytes, len), (ssize_t)len);
}
