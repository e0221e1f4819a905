/*
 * The role "serve" of callgate-agents. What the command line said is a JSON object in the file E2B_OPTIONS_FD: a key is
 * not seen in a list of processes.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "agents/e2b/e2b.h"
#include "base/cleanup.h"
#include "base/text.h"

#define EXIT_ERROR 125

/* SIGINT and SIGTERM end the server, and with it all sandboxes. */
static void main_on_signal(void *data, uint32_t events)
{
	(void)events;
	loop_stop(data);
}

static int main_open_signal_fd(void)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGHUP);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static int main_serve(struct loop *loop, const char *callgate, const json_t *given)
{
	const struct e2b_options options = {
		.listen_fd = E2B_LISTEN_FD,
		.callgate_path = callgate,
		.builtin_templates_dir = json_string_value(json_object_get(given, "templates")),
		.user_templates_dir = json_string_value(json_object_get(given, "own_templates")),
		.audit_log_dir = json_string_value(json_object_get(given, "audit_dir")),
		.limits = json_object_get(given, "limits")};
	_cleanup_free_ char *why = NULL;
	struct e2b *e2b = NULL;
	int error = options.builtin_templates_dir ? e2b_create(loop, &options, &e2b, &why) : -EINVAL;

	if (error < 0) {
		(void)text_printf(stderr, "callgate serve: %s\n", why ? why : strerror(-error));
		return EXIT_ERROR;
	}
	error = loop_run(loop);
	e2b_free(e2b);
	return error < 0 ? EXIT_ERROR : 0;
}

int e2b_main(int argc, char **argv, const char *callgate)
{
	json_t *given = json_loadfd(E2B_OPTIONS_FD, 0, NULL);
	_cleanup_close_ int signal_fd = -1;
	struct loop_source *signals = NULL;
	struct loop *loop = NULL;
	int status = EXIT_ERROR;

	(void)argv;
	if (argc != 1 || !given) {
		(void)text_printf(stderr, "callgate-agents is started by callgate; see callgate serve --help\n");
		json_decref(given);
		return EXIT_ERROR;
	}
	(void)close(E2B_OPTIONS_FD);
	(void)fcntl(E2B_LISTEN_FD, F_SETFD, FD_CLOEXEC); /* sandboxes must not keep the port */
	signal_fd = main_open_signal_fd();
	if (signal_fd >= 0 && loop_create(&loop) == 0)
		signals = loop_add_source(loop, signal_fd, EPOLLIN, main_on_signal, loop);
	if (signals)
		status = main_serve(loop, callgate, given);
	else
		(void)text_printf(stderr, "callgate serve: cannot watch for signals: %s\n", strerror(errno));
	json_decref(given);
	loop_free(loop);
	return status;
}
