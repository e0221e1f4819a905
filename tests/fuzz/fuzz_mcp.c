/*
 * callgate mcp: a script of what its client sends, and of what hostile programs say in return (stage.h).
 *     l n      the client sends data, and a newline; "@0"…: the handle of sandbox 0…; "@s": the state of the call that
 *              was last suspended; L n: without these
 *     w/W n    it stops to read, reads again; k n: it closes its sending end
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agents/mcp/mcp.h"
#include "agents/mcp/private.h"
#include "base/cleanup.h"
#include "tests/fuzz/stage.h"

#define SEGMENTS_MAX 200
#define SANDBOXES 4
#define TURNS 4 /* of the loop, for a segment: the server reads, serves, writes */

static struct {
	const char *at, *end; /* of the script */
	int turns;
	int fd; /* the client's; -1: closed */
	bool is_slow;
	struct loop *loop;
} client;

static void client_add_state(struct buf *out)
{
	const struct mcp_sandbox *sandbox = stage_get_sandbox_data(0);
	const struct tool_call *call = sandbox ? sandbox->mcp->calls : NULL;

	while (call && !call->state[0])
		call = call->next;
	buf_puts(out, call ? call->state : "none");
}

static void client_add_line(struct buf *out, const struct script_segment *segment)
{
	const char *end = segment->data + segment->len;

	for (const char *at = segment->data; at < end; at++) {
		const struct mcp_sandbox *sandbox;

		if (*at != '@' || at + 1 == end) {
			buf_add(out, at, 1);
			continue;
		}
		if (at[1] == 's') {
			at++;
			client_add_state(out);
			continue;
		}
		sandbox = stage_get_sandbox_data((unsigned)(unsigned char)*++at - '0');
		buf_puts(out, sandbox ? sandbox->handle : "none");
	}
	buf_puts(out, "\n");
}

static void client_play(const struct script_segment *segment)
{
	struct buf out = {0};

	if (segment->op == 'l')
		client_add_line(&out, segment);
	else if (segment->op == 'L')
		buf_add(&out, segment->data, segment->len);
	else if (segment->op == 'k')
		(void)shutdown(client.fd, SHUT_WR);
	else if (segment->op == 'w' || segment->op == 'W')
		client.is_slow = segment->op == 'w';
	if (out.len > 0)
		(void)send(client.fd, out.data, out.len, MSG_DONTWAIT | MSG_NOSIGNAL);
	buf_release(&out);
}

/* The server stops its loop at the end of its input: so the script is played by a timer of that loop. */
static void client_on_time(void *data)
{
	static char bytes[65536];
	struct script_segment segment;

	(void)data;
	while (!client.is_slow && recv(client.fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
		;
	if (client.turns % TURNS == 0) {
		if (client.turns == SEGMENTS_MAX * TURNS || !script_next_segment(&client.at, client.end, &segment)) {
			loop_stop(client.loop);
			return;
		}
		if (!stage_play(&segment))
			client_play(&segment);
	}
	client.turns++;
	promise(loop_add_timer(client.loop, 0, client_on_time, NULL) != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const policy[] = {"--profile", "python", NULL};
	const struct mcp_options options = {.callgate_path = "/nonexistent/callgate",
					    .policy_arguments = policy,
					    .sandboxes_max = SANDBOXES,
					    .asks_client = true,
					    .idle_timeout_ms = 60000};
	const char *top = getenv("top_srcdir");
	static char runners[4096];
	int fd[2], input_fd;

	(void)snprintf(runners, sizeof(runners), "%s/agents/runner", top ? top : ".");
	(void)setenv("CALLGATE_RUNNERS", runners, 1);
	promise(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd) == 0);
	memset(&client, 0, sizeof(client));
	client.at = (const char *)data;
	client.end = client.at + size;
	client.fd = fd[0];
	promise(loop_create(&client.loop) == 0);
	stage_begin(client.loop);
	promise(loop_add_timer(client.loop, 0, client_on_time, NULL) != NULL);
	input_fd = dup(fd[1]); /* a descriptor is watched for one thing */
	promise(mcp_serve(client.loop, input_fd, fd[1], &options) == 0);
	stage_end();
	loop_free(client.loop);
	(void)close(fd[0]);
	(void)close(fd[1]);
	(void)close(input_fd);
	return 0;
}
