/* session exec --inspect, and "inspect" of the session's policy: looks at the program before it is asked for. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup-json.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "cli/inspect/program.h"
#include "cli/session/request.h"
#include "cli/session/session.h"
#include "keeper/session-client.h"

#define LOOK_FILES_MAX 256 /* files of a session that are found; that there were more is told */

/* The files of a session that are being looked at. */
struct session_look {
	int socket_fd;
	const char *cwd; /* NULL: the workdir */
	const json_t *env;
	int file_fd[LOOK_FILES_MAX];
	size_t file_count;
};

/* Asks the session for a file, or, with a NULL name, what is looked for. The answer is owned; NULL: none. */
static json_t *look_ask(const struct session_look *look, const char *name, bool is_program, int *ret_fd)
{
	json_t *asked = json_pack("{s:s, s:s*, s:b, s:s*, s:s*}", "op", "look", "path", name, "program", is_program,
				  "cwd", look->cwd, "PATH", json_string_value(json_object_get(look->env, "PATH")));
	json_t *answer = NULL;

	if (!asked || session_client_send(look->socket_fd, asked, NULL, 0) < 0 ||
	    session_client_receive(look->socket_fd, &answer, ret_fd) < 0)
		return NULL;
	return answer;
}

/* Finds a file in the session, which opens it. The path is that of the descriptor, which session_look keeps. */
static char *look_find_file(void *data, const char *name, bool is_program, char **ret_name)
{
	struct session_look *look = data;
	_cleanup_close_ int fd = -1;
	_cleanup_json_ json_t *answer =
		look->file_count < LOOK_FILES_MAX ? look_ask(look, name, is_program, &fd) : NULL;
	const char *found = json_string_value(json_object_get(answer, "path"));

	if (fd < 0 || !found)
		return NULL;
	look->file_fd[look->file_count++] = fd;
	if (ret_name)
		*ret_name = strdup(found);
	return strdup(io_proc_fd_path(steal_fd(&fd)).path);
}

/* Takes what the session's policy says. 0, or not 0 when out of memory. */
static int look_take_settings(const json_t *settings, struct inspect_program *inspection)
{
	const json_t *module, *modules = json_object_get(settings, "modules");
	int error = 0;
	size_t i;

	inspection->refused = (uint32_t)json_integer_value(json_object_get(settings, "refuse"));
	inspection->warned = (uint32_t)json_integer_value(json_object_get(settings, "warn"));
	json_array_foreach(modules, i, module) error =
		error ? error : inspect_allow_module(&inspection->modules, json_string_value(module));
	return error;
}

static int look_refuse(const char *why)
{
	cli_print_error("session", "not started, because of what was found in it: %s", why);
	return CLI_EXIT_EXEC_REFUSED;
}

int session_inspect_program(int socket_fd, const struct exec_options *options, const json_t *env, char *const *argv)
{
	struct session_look look = {.socket_fd = socket_fd, .cwd = options->cwd, .env = env};
	struct inspect_program inspection = {.verb = "session",
					     .argv = argv,
					     .is_quiet = options->quiet,
					     .reads_stdin = options->interactive,
					     .find_file = look_find_file,
					     .data = &look};
	_cleanup_json_ json_t *answer = look_ask(&look, NULL, false, NULL);
	int r = answer ? look_take_settings(json_object_get(answer, "inspect"), &inspection) : -ECONNRESET;
	int exit_code = CLI_EXIT_OK;

	inspect_set_default(options->inspects, &inspection.modules, &inspection.refused, &inspection.warned);
	if (r == 0)
		r = inspect_program_look(&inspection);
	if (r < 0) {
		cli_print_error("session", "the program cannot be looked at: %s", strerror(-r));
		exit_code = CLI_EXIT_ERROR;
	} else if (inspection.why) {
		exit_code = look_refuse(inspection.why);
	}
	for (size_t i = 0; i < look.file_count; i++)
		(void)close(look.file_fd[i]);
	inspect_program_release(&inspection);
	return exit_code;
}
