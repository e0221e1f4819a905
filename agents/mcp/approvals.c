/*
 * --approve client: questions of a sandbox' approver (approval/), which wait for an answer of the client, by the
 * protocol's elicitation. The approver is at the other end of a socket, a line of JSON each way. With revision
 * 2025-11-25, a question is a request to the client; its id is that of the question. With 2026-07-28, it is an interim
 * result of a tool call that goes on in the sandbox; the client's retry of the call has the answer.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agents/mcp/private.h"
#include "agents/slist.h"
#include "approval/message.h"
#include "base/cleanup-json.h"
#include "base/cleanup.h"

#define APPROVAL_LINE_BYTES_MAX (2u * APPROVAL_TEXT_BYTES_MAX) /* of the approver; a longer line is none of its own */
#define APPROVAL_READ_BYTES 16384
#define APPROVAL_NO_ANSWER "none" /* the client does not decide */
#define APPROVAL_NOT_OFFERED "-"  /* no word of an answer: the approver takes it for a malformed one */

/* A question that no answer has come to. */
struct mcp_approval {
	struct mcp_approval *next;
	char id[SHA256_HEX_SIZE];
	struct mcp_sandbox *sandbox;  /* borrowed */
	json_t *params;               /* of elicitation/create; owned */
	json_t *answers;              /* the words that are offered; owned */
	bool was_put;                 /* the client was asked */
	const struct tool_call *call; /* the call whose interim result asks; NULL: a request asks, or nothing yet */
};

bool approvals_client_takes_forms(const json_t *capabilities)
{
	const json_t *elicitation = json_object_get(capabilities, "elicitation");

	/* without any mode, forms are meant */
	return json_is_object(elicitation) &&
	       (json_object_size(elicitation) == 0 || json_is_object(json_object_get(elicitation, "form")));
}

static void approval_free(struct mcp *mcp, struct mcp_approval *approval)
{
	slist_remove(mcp->approvals, approval, next);
	json_decref(approval->params);
	json_decref(approval->answers);
	free(approval);
}

static struct mcp_approval *approvals_find(const struct mcp *mcp, const char *id)
{
	struct mcp_approval *approval = mcp->approvals;

	while (approval && strcmp(approval->id, id) != 0)
		approval = approval->next;
	return approval;
}

/* ---- answers ---- */

/* Stops listening to the approver, which then takes its questions for not answered, as it does when it ends itself. */
static void approvals_close_channel(struct mcp_sandbox *sandbox)
{
	loop_remove_source(sandbox->approver_source);
	sandbox->approver_source = NULL;
	close_fd(&sandbox->approver_fd);
	buf_release(&sandbox->approver_line);
	sandbox->approver_line = (struct buf){0};
}

/* Passes an answer on, and forgets the question. */
static void approval_answer(struct mcp *mcp, struct mcp_approval *approval, const char *word)
{
	struct mcp_sandbox *sandbox = approval->sandbox;
	_cleanup_buf_ struct buf line = {0};

	buf_printf(&line, "{\"id\":\"%s\",\"answer\":\"%s\"}\n", approval->id, word);
	approval_free(mcp, approval);
	/* Answers are short and few: the socket has room for all, and an approver that does not read is given up. */
	if (sandbox->approver_fd >= 0 && (line.failed || send(sandbox->approver_fd, line.data, line.len,
							      MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)line.len))
		approvals_close_channel(sandbox);
}

/* Reads the client's ElicitResult, which may be anything. Returns the word for the approver, borrowed. */
static const char *approval_read_result(const struct mcp_approval *approval, const json_t *result)
{
	const char *action = json_string_value(json_object_get(result, "action"));
	const json_t *content = json_object_get(result, "content"), *given = json_object_get(content, "answer"),
		     *answer;
	size_t i;

	if (action && strcmp(action, "decline") == 0)
		return "no";
	if (action && strcmp(action, "cancel") == 0)
		return APPROVAL_NO_ANSWER;
	if (!action || strcmp(action, "accept") != 0 || json_object_size(content) != 1)
		return APPROVAL_NOT_OFFERED;
	json_array_foreach(approval->answers, i, answer)
	{
		if (json_equal(answer, given))
			return json_string_value(answer);
	}
	return APPROVAL_NOT_OFFERED;
}

void approvals_take_response(struct mcp *mcp, const char *id, const json_t *result)
{
	struct mcp_approval *approval = approvals_find(mcp, id);

	/* no question, a second answer, or an answer to what another request asks has no effect */
	if (approval && approval->was_put && !approval->call)
		approval_answer(mcp, approval, result ? approval_read_result(approval, result) : APPROVAL_NO_ANSWER);
}

void approvals_take_responses_of_retry(struct tool_call *call, const json_t *responses)
{
	struct mcp *mcp = call->mcp;
	struct mcp_approval *next;

	for (struct mcp_approval *approval = mcp->approvals; approval; approval = next) {
		const json_t *result = json_object_get(responses, approval->id);

		next = approval->next;
		if (approval->call != call)
			continue;
		if (result) {
			approval_answer(mcp, approval, approval_read_result(approval, result));
		} else { /* the client is asked again */
			approval->call = NULL;
			approval->was_put = false;
		}
	}
}

/* ---- questions ---- */

/* Asks by a request of this side (revision 2025-11-25). */
static void approval_put_by_request(struct mcp *mcp, struct mcp_approval *approval)
{
	if (!mcp->client_takes_forms || rpc_is_congested(mcp->rpc)) {
		approval_answer(mcp, approval, APPROVAL_NO_ANSWER);
		return;
	}
	approval->was_put = true;
	rpc_send_request(mcp->rpc, approval->id, "elicitation/create", json_incref(approval->params));
}

/*
 * Finds the call whose interim result can ask about what happens in the sandbox. *ret_later: there is none, but one
 * waits for its retry.
 */
static struct tool_call *approvals_find_call(const struct mcp_sandbox *sandbox, bool *ret_later)
{
	*ret_later = false;
	for (struct tool_call *call = sandbox->mcp->calls; call; call = call->next) {
		if (call->sandbox != sandbox || !call->has_started || !call->client_takes_forms)
			continue;
		if (call->id)
			return call;
		*ret_later = true;
	}
	return NULL;
}

/* Asks by an interim result (revision 2026-07-28), for all questions of the sandbox that are not put yet. */
static void approvals_put_by_result(struct mcp_sandbox *sandbox)
{
	struct mcp *mcp = sandbox->mcp;
	bool is_put_later;
	struct tool_call *call = approvals_find_call(sandbox, &is_put_later);
	json_t *requests = call ? json_object() : NULL;
	struct mcp_approval *next;

	for (struct mcp_approval *approval = mcp->approvals; approval; approval = next) {
		next = approval->next;
		if (approval->sandbox != sandbox || approval->was_put)
			continue;
		if (call) {
			approval->was_put = true;
			approval->call = call;
			(void)json_object_set_new(requests, approval->id,
						  json_pack("{s:s, s:O}", "method", "elicitation/create", "params",
							    approval->params));
		} else if (!is_put_later) {
			approval_answer(mcp, approval, APPROVAL_NO_ANSWER);
		}
	}
	if (json_object_size(requests) > 0)
		mcp->suspend_call(call, json_incref(requests));
	json_decref(requests);
}

void approvals_put(struct mcp_sandbox *sandbox)
{
	struct mcp *mcp = sandbox->mcp;
	struct mcp_approval *next;

	if (!mcp->is_initialized) {
		approvals_put_by_result(sandbox);
		return;
	}
	for (struct mcp_approval *approval = mcp->approvals; approval; approval = next) {
		next = approval->next;
		if (approval->sandbox == sandbox && !approval->was_put)
			approval_put_by_request(mcp, approval);
	}
}

void approvals_forget_call(struct mcp *mcp, const struct tool_call *call)
{
	struct mcp_approval *next;

	for (struct mcp_approval *approval = mcp->approvals; approval; approval = next) {
		next = approval->next;
		if (approval->call == call)
			approval_answer(mcp, approval, APPROVAL_NO_ANSWER);
	}
	if (call->sandbox)
		approvals_put(call->sandbox); /* what this call was to ask is asked by another one, or not at all */
}

/* What the person is shown: the lines of the approver, which are printable ASCII. */
static char *approval_make_message(const json_t *question)
{
	struct buf text = {0};
	const json_t *line;
	size_t i;

	buf_puts(&text, "A program in the sandbox waits: the policy denies what it is about to do, unless you permit "
			"it.\n");
	json_array_foreach(json_object_get(question, "shown"), i, line)
	{
		buf_printf(&text, "%s\n", json_string_value(line));
	}
	return buf_take_text(&text);
}

/* What the answers that are offered mean. Owned by the caller; NULL: no memory. */
static char *approval_describe_answers(const json_t *answers)
{
	static const char *const meanings[][2] = {
		{"once", "this call"},
		{"run", "this object by this name, until the sandbox ends"},
		{"remember", "also in later sandboxes, for a day"},
		{"no", "the call fails"},
		{"stop", "the sandbox ends"},
	};
	_cleanup_buf_ struct buf text = {0};
	const json_t *answer;
	size_t at;

	json_array_foreach(answers, at, answer)
	{
		for (size_t i = 0; i < sizeof(meanings) / sizeof(meanings[0]); i++)
			if (json_is_string(answer) && strcmp(json_string_value(answer), meanings[i][0]) == 0)
				buf_printf(&text, "%s%s: %s", text.len ? "; " : "", meanings[i][0], meanings[i][1]);
	}
	return buf_take_text(&text);
}

/*
 * The params of elicitation/create: a form with one field, whose values are the answers that are offered. NULL: no
 * memory; without its text, the question must not be put.
 */
static json_t *approval_make_params(const json_t *question)
{
	json_t *answers = json_object_get(question, "answers");
	_cleanup_free_ char *message = approval_make_message(question), *meanings = approval_describe_answers(answers);
	json_t *form = json_pack("{s:s, s:s, s:s, s:O}", "type", "string", "title", "Answer", "description", meanings,
				 "enum", answers);

	return json_pack("{s:s, s:{s:s, s:{s:o}, s:[s]}}", "message", message, "requestedSchema", "type", "object",
			 "properties", "answer", form, "required", "answer");
}

/* Takes a question of the approver. False: it is none. */
static bool approvals_add(struct mcp_sandbox *sandbox, const json_t *question)
{
	const json_t *answers = json_object_get(question, "answers");
	const char *id = json_string_value(json_object_get(question, "id"));
	struct mcp_approval *approval;

	if (!id || strlen(id) != SHA256_HEX_SIZE - 1 || !json_is_array(answers) || approvals_find(sandbox->mcp, id))
		return false;
	approval = calloc(1, sizeof(*approval));
	if (!approval)
		return false;
	memcpy(approval->id, id, SHA256_HEX_SIZE);
	approval->sandbox = sandbox;
	approval->answers = json_deep_copy(answers);
	approval->params = approval_make_params(question);
	if (!approval->answers || !approval->params) {
		json_decref(approval->answers);
		json_decref(approval->params);
		free(approval);
		return false;
	}
	slist_append(sandbox->mcp->approvals, approval, next);
	approvals_put(sandbox);
	return true;
}

/* Forgets a question that is closed. A retry, if it is asked by one, finds nothing to answer. */
static void approval_withdraw(struct mcp *mcp, struct mcp_approval *approval)
{
	if (approval->was_put && !approval->call)
		rpc_send_notification(mcp->rpc, "notifications/cancelled",
				      json_pack("{s:s, s:s}", "requestId", approval->id, "reason",
						"the question is closed: its time is over, or the program has ended"));
	approval_free(mcp, approval);
}

/* ---- the channel ---- */

/* Handles a line of the approver. False: it is none that an approver says. */
static bool approvals_take_line(struct mcp_sandbox *sandbox, const char *text, size_t len)
{
	_cleanup_json_ json_t *message = json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);
	const char *type = json_string_value(json_object_get(message, "type")), *id;
	struct mcp_approval *approval;

	if (type && strcmp(type, "question") == 0)
		return approvals_add(sandbox, message);
	if (!type || strcmp(type, "closed") != 0)
		return false;
	id = json_string_value(json_object_get(message, "id"));
	approval = id ? approvals_find(sandbox->mcp, id) : NULL;
	if (approval && approval->sandbox == sandbox)
		approval_withdraw(sandbox->mcp, approval);
	return true;
}

static void approvals_on_readable(void *data, uint32_t events)
{
	struct mcp_sandbox *sandbox = data;
	struct buf *line = &sandbox->approver_line;
	char bytes[APPROVAL_READ_BYTES];
	ssize_t got = read(sandbox->approver_fd, bytes, sizeof(bytes));
	bool goes_on = true;

	(void)events;
	if (got < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	for (ssize_t at = 0; goes_on && at < got; at++) {
		if (bytes[at] != '\n') {
			goes_on = line->len < APPROVAL_LINE_BYTES_MAX;
			buf_add(line, bytes + at, 1);
			continue;
		}
		goes_on = !line->failed && line->data && approvals_take_line(sandbox, line->data, line->len);
		line->len = 0;
	}
	if (got <= 0 || !goes_on)
		approvals_close_channel(sandbox);
}

int approvals_open_channel(struct mcp_sandbox *sandbox, int *ret_session_fd)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	sandbox->approver_fd = pair[0];
	if (fcntl(pair[0], F_SETFL, O_NONBLOCK) == 0)
		sandbox->approver_source =
			loop_add_source(sandbox->mcp->loop, pair[0], EPOLLIN, approvals_on_readable, sandbox);
	if (!sandbox->approver_source) {
		int error = -errno;

		(void)close(pair[1]);
		approvals_close_channel(sandbox);
		return error;
	}
	*ret_session_fd = pair[1];
	return 0;
}

void approvals_forget_sandbox(struct mcp_sandbox *sandbox)
{
	struct mcp_approval *next;

	for (struct mcp_approval *approval = sandbox->mcp->approvals; approval; approval = next) {
		next = approval->next;
		if (approval->sandbox == sandbox)
			approval_withdraw(sandbox->mcp, approval);
	}
	approvals_close_channel(sandbox);
}
