#include "supervisor/ask/approver.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/times.h"

/* sendmsg(2) and recvmsg(2) alone: the supervisor's own filter has no send(2) and recv(2). */

bool approver_rate_permits(struct approver_rate *rate, uint64_t now_ns)
{
	uint64_t *oldest = &rate->asked_ns[rate->next];

	if (*oldest && now_ns - *oldest < NS_PER_S)
		return false;
	*oldest = now_ns;
	rate->next = (rate->next + 1) % APPROVAL_QUESTIONS_PER_SECOND_MAX;
	return true;
}

enum ask_result approver_send_question(int fd, const struct approval_question *question, const char *text, size_t len)
{
	struct iovec part[] = {{(void *)(uintptr_t)question, sizeof(*question)}, {(void *)(uintptr_t)text, len}};
	const struct msghdr message = {.msg_iov = part, .msg_iovlen = 2};

	if (len > APPROVAL_TEXT_BYTES_MAX)
		return ASK_QUESTION_UNWRITABLE;
	if (sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0)
		return ASK_NO_ANSWER_YET;
	return errno == EPIPE || errno == ECONNRESET ? ASK_APPROVER_GONE : ASK_QUESTION_UNWRITABLE;
}

void approver_send_withdrawals(struct approver_withdrawals *withdrawals, int fd)
{
	size_t sent = 0;

	for (; sent < withdrawals->count; sent++) {
		struct iovec part = {&withdrawals->question[sent], sizeof(withdrawals->question[sent])};
		const struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

		/* after another error the approver is gone, and the withdrawal with it */
		if (sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 && (errno == EAGAIN || errno == EINTR))
			break;
	}
	withdrawals->count -= sent;
	memmove(withdrawals->question, withdrawals->question + sent,
		withdrawals->count * sizeof(withdrawals->question[0]));
}

void approver_withdraw(struct approver_withdrawals *withdrawals, int fd, const struct approval_question *question)
{
	assert(withdrawals->count < APPROVAL_OPEN_QUESTIONS_MAX);
	withdrawals->question[withdrawals->count] = *question;
	withdrawals->question[withdrawals->count++].kind = APPROVAL_WITHDRAWAL;
	approver_send_withdrawals(withdrawals, fd);
}

int approver_receive_answer(int fd, struct approval_answer *ret_answer)
{
	struct approval_answer answer;
	struct iovec part = {&answer, sizeof(answer)};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
	ssize_t got = recvmsg(fd, &message, MSG_DONTWAIT);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (got != sizeof(answer))
		return -EPIPE;
	answer.id[sizeof(answer.id) - 1] = '\0';
	*ret_answer = answer;
	return 1;
}

enum ask_result approver_read_answer(const struct approval_answer *answer, const char **ret_how)
{
	static const enum ask_result results[APPROVAL_WORD_MAX] = {
		[APPROVAL_ONCE] = ASK_ANSWER_ONCE,
		[APPROVAL_RUN] = ASK_ANSWER_RUN,
		[APPROVAL_REMEMBER] = ASK_ANSWER_REMEMBER,
		[APPROVAL_NO] = ASK_ANSWER_NO,
		[APPROVAL_STOP] = ASK_ANSWER_STOP,
		[APPROVAL_MALFORMED] = ASK_ANSWER_MALFORMED,
		[APPROVAL_UNANSWERED] = ASK_ANSWER_UNANSWERED,
		[APPROVAL_GONE] = ASK_APPROVER_GONE,
	};
	static const char *const ways[APPROVAL_WAY_MAX] = {
		[APPROVAL_BY_SOCKET] = "socket",       [APPROVAL_BY_COMMAND] = "command",
		[APPROVAL_BY_TERMINAL] = "terminal",   [APPROVAL_BY_CLIENT] = "client",
		[APPROVAL_FROM_MEMORY] = "remembered",
	};

	*ret_how = NULL;
	if (answer->word >= APPROVAL_WORD_MAX || answer->way >= APPROVAL_WAY_MAX)
		return ASK_ANSWER_MALFORMED;
	if (answer->word != APPROVAL_GONE)
		*ret_how = ways[answer->way];
	return results[answer->word];
}
