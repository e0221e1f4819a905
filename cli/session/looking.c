/* Looks at a program of a session before it is asked for, and which files were changed by its end. */
#include "cli/session/looking.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup-json.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/text.h"
#include "keeper/session-client.h"
#include "policy/findings.h"

/* Asks the session for a file, or, with a NULL name, what is looked for. The answer is owned; NULL: none. */
static json_t *look_ask(struct session_inspection *look, const char *name, bool is_program, int *ret_fd)
{
	json_t *asked = json_pack("{s:s, s:s*, s:b, s:s*, s:s*}", "op", "look", "path", name, "program", is_program,
				  "cwd", look->cwd, "PATH", json_string_value(json_object_get(look->env, "PATH")));
	json_t *answer = NULL, *error;

	if (!asked) {
		look->is_lost = look->is_lost || !name || text_is_utf8(name, strlen(name)); /* no memory */
		return NULL; /* a session finds nothing by other names */
	}
	if (session_client_send(look->socket_fd, asked, NULL, 0) == 0 &&
	    session_client_receive(look->socket_fd, &answer, ret_fd) == 0 && !json_object_get(answer, "error"))
		return answer;
	look->is_lost = true;
	error = json_object_get(json_object_get(answer, "error"), "message");
	if (name && json_is_string(error)) {
		cli_print_error(look->program.verb, "inspect: %s: %s", name, json_string_value(error));
		(void)snprintf(look->lost_why, sizeof(look->lost_why), "%s", json_string_value(error));
	}
	json_decref(answer);
	return NULL;
}

/* Finds a file in the session, which opens it. The path is that of the descriptor, which session_look keeps. */
static char *look_find_file(void *data, const char *name, bool is_program, char **ret_name)
{
	struct session_inspection *look = data;
	_cleanup_close_ int fd = -1;
	const bool can_exist = strlen(name) < PATH_MAX; /* the session takes no message that is too long */
	_cleanup_json_ json_t *answer =
		look->file_count < LOOK_FILES_MAX && can_exist ? look_ask(look, name, is_program, &fd) : NULL;
	const char *found = json_string_value(json_object_get(answer, "path"));
	char *path, *copy;

	look->program.lacks_files = look->program.lacks_files || look->file_count == LOOK_FILES_MAX;
	if (!found)
		return NULL;
	path = fd >= 0 ? strdup(io_proc_fd_path(fd).path) : NULL; /* -1: this process has too many descriptors */
	copy = strdup(found);
	if (!path || !copy) {
		look->is_lost = true;
		free(path);
		free(copy);
		return NULL;
	}
	look->file_fd[look->file_count++] = steal_fd(&fd);
	if (ret_name)
		*ret_name = copy;
	else
		free(copy);
	return path;
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

/* Takes the variables of the session. 0 or -ENOMEM. */
static int look_take_environment(const json_t *environment, struct inspect_program *inspection)
{
	const json_t *variable;
	int r = 0;
	size_t i;

	json_array_foreach(environment, i, variable)
	{
		if (r == 0 && json_is_string(variable))
			r = cli_list_add_owned(&inspection->environment, strdup(json_string_value(variable)));
	}
	return r;
}

/* Takes the variables of the request. PATH is for the session, which looks for programs. 0 or -ENOMEM. */
static int look_take_variables(const json_t *env, struct inspect_program *inspection)
{
	const char *name;
	const json_t *value;
	int r = 0;

	json_object_foreach((json_t *)(uintptr_t)env, name, value)
	{ /* cppcheck does not know the macro */
		if (r == 0 && strcmp(name, "PATH") != 0 && json_is_string(value))
			r = cli_list_add_owned(&inspection->variables,
					       text_format("%s=%s", name, json_string_value(value)));
	}
	return r;
}

/* Closes the files that were found. */
static void look_close_files(struct session_inspection *look)
{
	while (look->file_count > 0)
		close_fd(&look->file_fd[--look->file_count]);
}

int session_inspection_init(struct session_inspection *look, int socket_fd, const struct exec_options *options,
			    const json_t *env)
{
	_cleanup_json_ json_t *answer = NULL;
	int r;

	*look = (struct session_inspection){
		.socket_fd = socket_fd,
		.cwd = options->cwd,
		.env = env,
		.program = {.verb = "session",
			    .source = "command line",
			    .is_quiet = options->quiet,
			    .reads_stdin = options->interactive,
			    .find_file = look_find_file,
			    .data = look},
	};
	answer = look_ask(look, NULL, false, NULL);
	r = answer ? look_take_settings(json_object_get(answer, "inspect"), &look->program) : -ECONNRESET;
	r = r < 0 ? r : look_take_environment(json_object_get(answer, "variables"), &look->program);
	r = r < 0 ? r : look_take_variables(env, &look->program);
	inspect_set_default(options->inspects, &look->program.modules, &look->program.refused, &look->program.warned);
	return r;
}

int session_inspection_find(struct session_inspection *look, char *const *argv)
{
	int r;

	look->program.argv = argv;
	r = inspect_program_look(&look->program);
	look_close_files(look);
	return r == 0 && look->is_lost ? -ECONNRESET : r;
}

int session_inspection_find_in_code(struct session_inspection *look, const char *code, enum inspect_type type)
{
	const int r = inspect_program_look_at_code(&look->program, code, type);

	look_close_files(look);
	return r == 0 && look->is_lost ? -ECONNRESET : r;
}

int session_inspection_look(struct session_inspection *look, char *const *argv)
{
	const int r = session_inspection_find(look, argv);
	_cleanup_free_ char *refusal = NULL;

	if (r < 0) {
		cli_print_error("session", "the program cannot be looked at: %s", strerror(-r));
		return CLI_EXIT_ERROR;
	}
	if (!look->program.why)
		return CLI_EXIT_OK;
	/* without memory, or when the session has ended, nothing is started, either */
	(void)session_client_record_inspection(look->socket_fd, SESSION_INSPECT_REFUSED, argv[0], look->program.why);
	refusal = inspect_make_refusal(look->program.why);
	cli_print_error("session", "%s", refusal ? refusal : look->program.why);
	return CLI_EXIT_EXEC_REFUSED;
}

/* ---- afterwards ---- */

/* Has the session put on record what was found, or with NULL that it is not known, as far as the session goes on. */
static void look_record_changes(const struct session_inspection *look, int dir_fd, const char *name,
				const json_t *found)
{
	/* After an error the session has closed the other connection. */
	_cleanup_close_ int fd = session_client_connect(dir_fd, name, 0);
	_cleanup_free_ char *names = found ? session_client_join_changes(found) : NULL;
	const char *why = *look->lost_why ? look->lost_why : "the session has not answered";

	if (fd < 0 || (names && !*names))
		return;
	(void)session_client_record_inspection(fd, found ? SESSION_INSPECT_CHANGED : SESSION_INSPECT_CHANGES_UNKNOWN,
					       look->program.argv[0],
					       !found  ? why
					       : names ? names
						       : "?");
}

json_t *session_inspection_tell_changes(struct session_inspection *look, int dir_fd, const char *name)
{
	_cleanup_close_ int fd = look->program.seen_count > 0 ? session_client_connect(dir_fd, name, 0) : -1;
	json_t *found = NULL;

	if (look->program.seen_count == 0)
		return NULL;
	look->socket_fd = fd;
	look->is_lost = fd < 0;
	if (fd < 0)
		(void)snprintf(look->lost_why, sizeof(look->lost_why), "the session has ended");
	found = fd < 0 ? NULL : inspect_program_make_changes(&look->program, &look->is_lost);
	look->is_lost = look->is_lost || !found;
	inspect_program_print_changes(&look->program, found);
	if (look->is_lost && !look->program.is_quiet)
		cli_print_error(look->program.verb,
				"inspect: it is not known whether files were changed after they were looked at%s%s",
				*look->lost_why ? ": " : "", look->lost_why);
	if (found)
		look_record_changes(look, dir_fd, name, found);
	if (look->is_lost) {
		look_record_changes(look, dir_fd, name, NULL);
		found = found ? found : json_object();
		(void)json_object_set_new(found, "changes_unknown", json_true());
	}
	look_close_files(look);
	return found;
}

void session_inspection_release(struct session_inspection *look)
{
	look_close_files(look);
	inspect_program_release(&look->program);
}
