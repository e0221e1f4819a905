/* A sandbox, from its making to its end. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agents/sandbox/private.h"
#include "base/cleanup.h"
#include "keeper/session-client.h"

const char *sandbox_get_id(const struct sandbox *sandbox)
{
	return sandbox->id;
}

const char *sandbox_get_workdir(const struct sandbox *sandbox)
{
	return sandbox->workdir;
}

static void sandbox_close_holder(struct sandbox *sandbox)
{
	loop_unwatch(sandbox->holder);
	sandbox->holder = NULL;
	close_fd(&sandbox->holder_fd);
}

/* The session has hung up. When it was never ready, the launcher knows the reason. */
static void sandbox_on_hang_up(struct sandbox *sandbox)
{
	sandbox_close_holder(sandbox);
	if (sandbox->id)
		sandbox->options.on_end(sandbox->options.data);
	else if (!sandbox->launcher)
		sandbox->options.on_ready(sandbox->options.data, "the session has ended at once");
}

static void sandbox_on_answer(void *data, uint32_t events)
{
	struct sandbox *sandbox = data;
	_cleanup_json_ json_t *answer = NULL;
	const char *id, *workdir;
	int r = session_client_receive(sandbox->holder_fd, &answer, NULL);

	(void)events;
	if (r == -EAGAIN)
		return;
	id = json_string_value(json_object_get(answer, "session"));
	workdir = json_string_value(json_object_get(answer, "workdir"));
	if (r < 0 || !id || sandbox->id) {
		sandbox_on_hang_up(sandbox);
		return;
	}
	sandbox->id = strdup(id);
	sandbox->workdir = strdup(workdir ? workdir : "/");
	if (!sandbox->id || !sandbox->workdir) {
		free(sandbox->id);
		sandbox->id = NULL;
		sandbox_on_hang_up(sandbox);
		return;
	}
	sandbox->options.on_ready(sandbox->options.data, NULL);
}

static void sandbox_on_launcher_exit(void *data, const char *text)
{
	struct sandbox *sandbox = data;

	sandbox->launcher = NULL;
	if (!sandbox->id && sandbox->holder_fd < 0)
		sandbox->options.on_ready(sandbox->options.data, text[0] ? text : "callgate session create has failed");
}

static int sandbox_start(struct sandbox *sandbox, const struct sandbox_options *options)
{
	_cleanup_close_ int session_fd = -1;
	int pair[2], r;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	sandbox->holder_fd = pair[0];
	session_fd = pair[1];
	if (fcntl(pair[0], F_SETFL, O_NONBLOCK) < 0)
		return -errno;
	r = session_client_send(pair[0], json_pack("{s:s}", "op", "hold"), NULL, 0);
	if (r < 0)
		return r;
	sandbox->holder = loop_watch(sandbox->loop, pair[0], EPOLLIN, sandbox_on_answer, sandbox);
	if (!sandbox->holder)
		return -errno;
	return launcher_start(sandbox->loop, options, session_fd, sandbox_on_launcher_exit, sandbox,
			      &sandbox->launcher);
}

int sandbox_create(struct loop *loop, const struct sandbox_options *options, struct sandbox **ret_sandbox)
{
	struct sandbox *sandbox = calloc(1, sizeof(*sandbox));
	int r;

	if (!sandbox)
		return -ENOMEM;
	*sandbox = (struct sandbox){.loop = loop, .options = *options, .holder_fd = -1};
	sandbox->options.arguments = NULL;
	sandbox->options.callgate = NULL;
	r = sandbox_start(sandbox, options);
	if (r < 0)
		sandbox_free(sandbox);
	else
		*ret_sandbox = sandbox;
	return r;
}

void sandbox_free(struct sandbox *sandbox)
{
	if (!sandbox)
		return;
	while (sandbox->program)
		sandbox_program_free(sandbox->program);
	launcher_forget(sandbox->launcher);
	sandbox_close_holder(sandbox);
	free(sandbox->id);
	free(sandbox->workdir);
	free(sandbox);
}
