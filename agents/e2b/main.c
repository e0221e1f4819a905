/*
 * The role "serve" of callgate-agents. `callgate serve` hands over its options as a JSON object in the file
 * E2B_OPTIONS_FD, not as arguments: arguments, with the API keys in them, could be read by ps(1).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agents/e2b/e2b.h"
#include "agents/role.h"
#include "agents/sandbox/sandbox.h"
#include "base/cleanup.h"
#include "base/text.h"

/* Serves clients until a signal ends the loop. Returns the exit status. */
static int main_serve(struct loop *loop, const char *callgate, const json_t *options_json)
{
	const struct e2b_options options = {
		.listen_fd = E2B_LISTEN_FD,
		.callgate_path = callgate,
		.builtin_templates_dir = json_string_value(json_object_get(options_json, "templates")),
		.user_templates_dir = json_string_value(json_object_get(options_json, "own_templates")),
		.audit_log_dir = json_string_value(json_object_get(options_json, "audit_dir")),
		.approval = json_object_get(options_json, "approval"),
		.limits = json_object_get(options_json, "limits")};
	_cleanup_free_ char *why = NULL;
	struct e2b *e2b = NULL;
	int error = options.builtin_templates_dir ? e2b_create(loop, &options, &e2b, &why) : -EINVAL;

	if (error < 0) {
		(void)text_printf(stderr, "callgate serve: %s\n", why ? why : strerror(-error));
		return ROLE_EXIT_ERROR;
	}
	error = loop_run(loop);
	e2b_free(e2b);
	return error < 0 ? ROLE_EXIT_ERROR : 0;
}

int e2b_main(int argc, char **argv, const char *callgate)
{
	json_t *options_json = json_loadfd(E2B_OPTIONS_FD, 0, NULL);
	_cleanup_close_ int signal_fd = -1;
	struct loop *loop = NULL;
	int status = ROLE_EXIT_ERROR, error;

	(void)argv;
	if (argc != 1 || !options_json) {
		(void)text_printf(stderr, "callgate-agents is started by callgate; see callgate serve --help\n");
		json_decref(options_json);
		return ROLE_EXIT_ERROR;
	}
	(void)close(E2B_OPTIONS_FD);
	(void)fcntl(E2B_LISTEN_FD, F_SETFD, FD_CLOEXEC); /* or a sandbox's process would keep the port in use */
	error = loop_create(&loop);
	if (error == 0)
		error = role_stop_on_signals(loop, &signal_fd);
	if (error == 0)
		status = main_serve(loop, callgate, options_json);
	else
		(void)text_printf(stderr, "callgate serve: cannot start: %s\n", strerror(-error));
	json_decref(options_json);
	sandbox_forget_launchers();
	loop_free(loop);
	return status;
}
