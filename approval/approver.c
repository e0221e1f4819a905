#include "approval/approver.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "approval/private.h"
#include "approval/remembered.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "confine/descriptors.h"

#define NS_PER_S UINT64_C(1000000000)

static const char *const answer_words[] = {
	[APPROVAL_ONCE] = "once", [APPROVAL_RUN] = "run",   [APPROVAL_REMEMBER] = "remember",
	[APPROVAL_NO] = "no",     [APPROVAL_STOP] = "stop",
};

int approver_read_line(int fd, struct approver_line *line)
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

/* ---- answers ---- */

/* Closes a question. Its place can take another one. */
static void approver_close(struct approver *approver, struct approver_question *question, const char *why)
{
	front_close_question(approver, question, why);
	free(question->text);
	*question = (struct approver_question){.answer_fd = -1};
}

void approver_answer(struct approver *approver, struct approver_question *question, enum approval_answer_word word,
		     enum approval_way way, uid_t uid)
{
	struct approval_answer answer = {.word = word, .way = way, .uid = word == APPROVAL_GONE ? -1 : (int64_t)uid};

	memcpy(answer.id, question->head.id, sizeof(answer.id));
	/* The supervisor's end has room for more answers than there are questions; when it is gone, this process ends. */
	(void)send(approver->channel_fd, &answer, sizeof(answer), MSG_NOSIGNAL | MSG_DONTWAIT);
	approver_close(approver, question, word == APPROVAL_GONE ? "gone" : "answered");
}

void approver_answer_all_gone(struct approver *approver, enum approval_way way)
{
	for (size_t i = 0; i < APPROVAL_OPEN_QUESTIONS_MAX; i++)
		if (approver->question[i].is_open)
			approver_answer(approver, &approver->question[i], APPROVAL_GONE, way, 0);
}

static struct approver_question *approver_find(struct approver *approver, const char *id)
{
	for (size_t i = 0; i < APPROVAL_OPEN_QUESTIONS_MAX; i++)
		if (approver->question[i].is_open && strcmp(approver->question[i].head.id, id) == 0)
			return &approver->question[i];
	return NULL;
}

/* Reads how long an answer is to be remembered. False: the text is no such time. */
static bool approver_read_expiry(const json_t *expires, uint64_t *ret_seconds)
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

/* The answer that an object gives to a question. What cannot be held to is not taken for less: it is malformed. */
static enum approval_answer_word approver_read_word(const struct approver *approver,
						    const struct approver_question *question, const json_t *object)
{
	const char *text = json_string_value(json_object_get(object, "answer"));
	const json_t *expires = json_object_get(object, "expires");
	enum approval_answer_word word = APPROVAL_ONCE;
	uint64_t seconds;

	while (word <= APPROVAL_STOP && (!text || strcmp(text, answer_words[word]) != 0))
		word++;
	if (word > APPROVAL_STOP || json_object_size(object) != 2 + (expires != NULL) ||
	    (expires && word != APPROVAL_REMEMBER) || !approver_read_expiry(expires, &seconds))
		return APPROVAL_MALFORMED;
	if ((word == APPROVAL_RUN || word == APPROVAL_REMEMBER) && !question->head.can_hold_for_run)
		return APPROVAL_MALFORMED;
	if (word != APPROVAL_REMEMBER)
		return word;
	if (approver->options.remembered_fd < 0 || remembered_add(approver->options.remembered_fd, &question->head,
								  question->text, (uint64_t)time(NULL) + seconds) < 0)
		return APPROVAL_MALFORMED;
	return word;
}

bool approver_take_answer(struct approver *approver, struct approver_question *only, const json_t *object,
			  enum approval_way way, uid_t uid)
{
	const char *id = json_string_value(json_object_get(object, "id"));
	struct approver_question *question = id ? approver_find(approver, id) : NULL;

	if (only && question != only) {
		approver_answer(approver, only, APPROVAL_MALFORMED, way, uid);
	} else if (question) {
		approver_answer(approver, question, approver_read_word(approver, question, object), way, uid);
	} else if (id && !approver->has_reported_stray_answer) {
		approver->has_reported_stray_answer = true;
		(void)text_printf(stderr, "callgate: --approve: an answer is for no open question (late, a second one, "
					  "or another question's); it has no effect\n");
	}
	return id != NULL;
}

bool approver_take_answer_line(struct approver *approver, struct approver_question *only,
			       const struct approver_line *line, enum approval_way way, uid_t uid)
{
	json_t *object = json_loadb(line->text, line->len, JSON_REJECT_DUPLICATES, NULL);
	bool is_answer = approver_take_answer(approver, only, object, way, uid);

	json_decref(object);
	return is_answer;
}

/* ---- the supervisor's messages ---- */

static void approver_open(struct approver *approver, const struct approval_question *head, const char *text, size_t len)
{
	struct approver_question *question = NULL;

	for (size_t i = 0; i < APPROVAL_OPEN_QUESTIONS_MAX; i++)
		if (!approver->question[i].is_open)
			question = &approver->question[i];
	if (!question)
		return; /* the supervisor has asked no more than that */
	*question = (struct approver_question){
		.is_open = true, .head = *head, .answer_fd = -1, .order = ++approver->last_order};
	question->text = strndup(text, len);
	if (!question->text)
		approver_answer(approver, question, APPROVAL_GONE, APPROVAL_BY_SOCKET, 0);
	else if (head->can_hold_for_run && approver->options.remembered_fd >= 0 &&
		 remembered_find(approver->options.remembered_fd, head, (uint64_t)time(NULL)))
		approver_answer(approver, question, APPROVAL_REMEMBER, APPROVAL_FROM_MEMORY, geteuid());
	else
		front_ask(approver, question);
}

/* Receives one message. False: the supervisor has ended. */
static bool approver_receive(struct approver *approver)
{
	static char text[APPROVAL_TEXT_BYTES_MAX];
	struct approval_question head;
	struct approver_question *question;
	struct iovec part[] = {{&head, sizeof(head)}, {text, sizeof(text)}};
	struct msghdr message = {.msg_iov = part, .msg_iovlen = 2};
	ssize_t got = recvmsg(approver->channel_fd, &message, MSG_DONTWAIT);

	if (got < 0)
		return errno == EAGAIN || errno == EINTR;
	if ((size_t)got < sizeof(head))
		return false;
	if (head.kind == APPROVAL_QUESTION) {
		approver_open(approver, &head, text, (size_t)got - sizeof(head));
	} else if ((question = approver_find(approver, head.id))) {
		approver_close(approver, question, "withdrawn");
		terminal_show_next(approver);
	}
	return true;
}

static void approver_end_all_questions(struct approver *approver)
{
	for (size_t i = 0; i < APPROVAL_OPEN_QUESTIONS_MAX; i++)
		if (approver->question[i].is_open)
			front_close_question(approver, &approver->question[i], "withdrawn");
}

/* ---- the process ---- */

static void approver_run(struct approver *approver)
{
	enum { CHANNEL, SOCKET, TERMINAL, COMMANDS, COUNT = COMMANDS + APPROVAL_OPEN_QUESTIONS_MAX };

	for (;;) {
		struct pollfd ready[COUNT] = {
			[CHANNEL] = {.fd = approver->channel_fd, .events = POLLIN},
			[SOCKET] = {.fd = approver->options.socket_fd,
				    .events = (short)(POLLIN | (approver->output.len ? POLLOUT : 0))},
			/* Not read while nothing is asked, so that the shell after the run gets what is typed. */
			[TERMINAL] = {.fd = approver->shown ? approver->options.terminal_fd : -1, .events = POLLIN},
		};

		for (size_t i = 0; i < APPROVAL_OPEN_QUESTIONS_MAX; i++)
			ready[COMMANDS + i] = (struct pollfd){.fd = approver->question[i].answer_fd, .events = POLLIN};
		if (poll(ready, COUNT, -1) < 0)
			continue;
		/* First, so that an answer to what was withdrawn meanwhile is none. */
		if (ready[CHANNEL].revents && !approver_receive(approver))
			return;
		if (ready[SOCKET].revents & POLLOUT)
			front_write_socket(approver);
		if (ready[SOCKET].revents & ~POLLOUT && approver->options.socket_fd >= 0)
			front_read_socket(approver);
		if (ready[TERMINAL].revents && approver->shown && approver->options.terminal_fd == ready[TERMINAL].fd)
			terminal_read(approver);
		for (size_t i = 0; i < APPROVAL_OPEN_QUESTIONS_MAX; i++)
			if (ready[COMMANDS + i].revents && approver->question[i].answer_fd == ready[COMMANDS + i].fd)
				front_read_command(approver, &approver->question[i]);
	}
}

/* Reads nothing from the caller's standard input, and writes messages, if any, to standard error. */
static bool approver_detach_stdio(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	return null >= 0 && dup2(null, STDIN_FILENO) == 0 && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0;
}

static _Noreturn void approver_main(const struct approver_options *options, int channel_fd)
{
	struct approver *approver = calloc(1, sizeof(*approver));
	int keep[] = {channel_fd, options->socket_fd, options->terminal_fd, options->remembered_fd};
	static const int of_terminals[] = {SIGINT, SIGQUIT, SIGHUP, SIGTSTP, SIGTTIN, SIGTTOU};
	sigset_t none;

	if (!approver || !approver_detach_stdio() || chdir("/") < 0)
		_exit(1);
	/* Ctrl-C is meant for the run; this process ends with it */
	if (options->terminal_fd < 0)
		(void)setsid();
	for (size_t i = 0; i < sizeof(of_terminals) / sizeof(of_terminals[0]); i++)
		(void)signal(of_terminals[i], SIG_IGN); /* SIGTTIN: in the background reading fails then */
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)signal(SIGCHLD, SIG_DFL);
	(void)signal(SIGPIPE, SIG_IGN);
	descriptors_close_all_but(keep, sizeof(keep) / sizeof(keep[0]));
	approver->options = *options;
	approver->channel_fd = channel_fd;
	for (size_t i = 0; i < APPROVAL_OPEN_QUESTIONS_MAX; i++)
		approver->question[i].answer_fd = -1;
	approver_run(approver);
	approver_end_all_questions(approver);
	_exit(0);
}

int approver_start(const struct approver_options *options, int *ret_fd)
{
	_cleanup_close_ int own = -1, other = -1;
	int pair[2];
	pid_t child;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	own = pair[0];
	other = pair[1];
	if (fcntl(own, F_SETFL, O_NONBLOCK) < 0)
		return -errno;
	child = fork();
	if (child < 0)
		return -errno;
	if (child == 0) {
		(void)close(own);
		if (fork() == 0)
			approver_main(options, other);
		_exit(0);
	}
	(void)TEMP_FAILURE_RETRY(waitpid(child, NULL, 0));
	*ret_fd = steal_fd(&own);
	return 0;
}
