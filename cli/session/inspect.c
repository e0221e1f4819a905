/* callgate session inspect: looks at what a program of a session would run, and starts nothing. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup-json.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "cli/session/looking.h"

#define INSPECT_REQUEST_BYTES_MAX (64u << 20) /* of the JSON text of --request */

/* What is to be looked at. */
struct inspect_verb {
	struct exec_options exec;
	bool reads_request;
	json_t *request;   /* --request; owned */
	const json_t *env; /* of the program; borrowed from own_request or request */
	json_t *own_request;
	char *const *argv;         /* NULL-ended; empty: code, or changes */
	struct cli_list argv_list; /* of a request */
	const char *code;          /* NULL: none */
	enum inspect_type type;    /* of the code */
};

#define FIELD_OFFSET(member) offsetof(struct inspect_verb, member)

static const struct cli_option table[] = {
	CLI_LIST("env", 'e', "NAME[=VALUE]", "a variable of the program's environment, as of session exec (repeatable)",
		 FIELD_OFFSET(exec.env)),
	CLI_TEXT("cwd", "DIR", "the directory in which the program would start (default: the workdir)",
		 FIELD_OFFSET(exec.cwd)),
	CLI_FLAG("interactive", 'i', "the program would read callgate's standard input",
		 FIELD_OFFSET(exec.interactive)),
	CLI_FLAG("request", 0,
		 "read what is to be looked at from standard input, a JSON object, and print one: see\n"
		 "callgate(1)",
		 FIELD_OFFSET(reads_request)),
	CLI_FLAG("json", 0, "print one JSON object", FIELD_OFFSET(exec.json)),
	CLI_FLAG("quiet", 'q', "print only callgate's error messages", FIELD_OFFSET(exec.quiet)),
	{0},
};

/* ---- --request ---- */

/* Takes "argv", an array of texts. False: it is none. */
static bool request_take_argv(struct inspect_verb *options)
{
	const json_t *argument, *list = json_object_get(options->request, "argv");
	size_t i;

	json_array_foreach(list, i, argument)
	{
		if (!json_is_string(argument) ||
		    cli_list_add_owned(&options->argv_list, strdup(json_string_value(argument))) < 0)
			return false;
	}
	options->argv = options->argv_list.item;
	return json_array_size(list) > 0;
}

/* Takes "code" with its "type". False: they are none. */
static bool request_take_code(struct inspect_verb *options)
{
	const char *type = json_string_value(json_object_get(options->request, "type"));

	options->code = json_string_value(json_object_get(options->request, "code"));
	return options->code && type && inspect_type_find(type, &options->type);
}

/* Reads what is to be looked at. 0, or a message was printed. */
static int request_read(struct inspect_verb *options)
{
	_cleanup_free_ char *text = NULL;
	const json_t *cwd;
	size_t len = 0;
	bool is_valid;

	if (io_read_fd(STDIN_FILENO, INSPECT_REQUEST_BYTES_MAX, &text, &len) == 0)
		options->request = json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);
	cwd = json_object_get(options->request, "cwd");
	options->env = json_object_get(options->request, "env");
	options->exec.json = true;
	options->exec.cwd = json_string_value(cwd);
	options->exec.interactive = json_is_true(json_object_get(options->request, "interactive"));
	is_valid =
		(!cwd || json_is_string(cwd)) && (!options->env || json_is_object(options->env)) &&
		(json_object_get(options->request, "seen") || request_take_argv(options) || request_take_code(options));
	if (!is_valid)
		cli_print_error("session inspect",
				"standard input: neither argv, code and type, nor seen in a JSON object");
	return is_valid ? 0 : -EBADMSG;
}

/* ---- looking ---- */

/* Looks at the program or the code. 0 or -errno. */
static int inspect_look(const struct inspect_verb *options, struct session_inspection *look)
{
	look->program.findings = options->exec.json ? json_array() : NULL;
	look->program.is_quiet = look->program.is_quiet || options->exec.json;
	if (!options->code)
		return session_inspection_find(look, options->argv);
	look->program.source = "code";
	return session_inspection_find_in_code(look, options->code, options->type);
}

/* Prints what was found. Returns the exit status. */
static int inspect_report(const struct inspect_verb *options, const struct session_inspection *look)
{
	const char *why = look->program.why;
	int status = CLI_EXIT_OK;

	if (options->exec.json)
		status = cli_print_json("session inspect",
					json_pack("{s:b, s:s*, s:O, s:I, s:o}", "refused", why != NULL, "why", why,
						  "findings", look->program.findings, "unlisted",
						  (json_int_t)inspect_program_count_unlisted(&look->program), "seen",
						  inspect_program_make_seen(&look->program)));
	else if (why)
		cli_print_error("session inspect", "would not be started: %s", why);
	return status == CLI_EXIT_OK && why ? CLI_EXIT_EXEC_REFUSED : status;
}

/* Prints which of the files of "seen" are other ones now. Returns the exit status. */
static int inspect_print_changes(const struct inspect_verb *options, struct session_inspection *look)
{
	_cleanup_json_ json_t *found = NULL;

	if (inspect_program_take_seen(&look->program, json_object_get(options->request, "seen")) < 0) {
		cli_print_error("session inspect", "standard input: \"seen\" is not what --json has printed");
		return CLI_EXIT_ERROR;
	}
	found = inspect_program_make_changes(&look->program, &look->is_lost);
	if (found && !look->is_lost)
		return cli_print_json("session inspect", steal_pointer(&found));
	cli_print_error("session inspect", "%s", *look->lost_why ? look->lost_why : "the session does not answer");
	return CLI_EXIT_ERROR;
}

/* Does what the options say in a session. Returns the exit status. */
static int inspect_in_session(const struct inspect_verb *options, int socket_fd)
{
	struct session_inspection look;
	int status = CLI_EXIT_ERROR, r = session_inspection_init(&look, socket_fd, &options->exec, options->env);

	if (r == 0 && json_object_get(options->request, "seen")) {
		status = inspect_print_changes(options, &look);
	} else if (r == 0) {
		r = inspect_look(options, &look);
		if (r == 0)
			status = inspect_report(options, &look);
	}
	if (r < 0)
		cli_print_error("session inspect", "cannot look: %s", strerror(-r));
	session_inspection_release(&look);
	return status;
}

/* Takes what is to be looked at from the command line, or standard input. 0, or a message was printed. */
static int inspect_take_arguments(struct inspect_verb *options, char **argv)
{
	if (options->reads_request)
		return request_read(options);
	options->argv = argv;
	options->own_request = exec_make_request(&options->exec, argv);
	options->env = json_object_get(options->own_request, "env");
	if (!options->own_request)
		cli_print_error("session inspect", "arguments must be UTF-8 text");
	return options->own_request ? 0 : -EBADMSG;
}

/* Checks what is named. CLI_OPTIONS_PARSED, or CLI_EXIT_ERROR with a message. */
static int inspect_check_arguments(const struct inspect_verb *options, int argc, char **argv)
{
	if (argc - optind >= 2 && strcmp(argv[optind + 1], "--") == 0) {
		argv[optind + 1] = argv[optind];
		optind++;
	}
	if (argc - optind >= 1 && (argc - optind == 1) == options->reads_request)
		return CLI_OPTIONS_PARSED;
	cli_print_error("session inspect",
			options->reads_request ? "name the session alone: callgate session inspect --request ID"
					       : "name the session and a program: callgate session inspect ID PROGRAM");
	return cli_fail_usage("session inspect");
}

static void inspect_release(struct inspect_verb *options)
{
	json_decref(options->request);
	json_decref(options->own_request);
	cli_list_release(&options->argv_list);
	cli_list_release(&options->exec.env);
}

int session_main_inspect(int argc, char **argv)
{
	struct inspect_verb options = {.exec = {.inspects = true}};
	const struct cli_syntax syntax = {
		.verb = "session inspect",
		.usage = "Usage: callgate session inspect [OPTION...] ID [--] PROGRAM [ARG...]\n"
			 "       callgate session inspect --request ID\n\n"
			 "Looks at what PROGRAM would run in the session ID, as session exec --inspect does, and\n"
			 "starts nothing.\n\n",
		.epilogue = "\nExit status: 0; 126 session exec would not start it; 125 an error.\n",
		.table = {{NULL, table, &options}},
	};
	int status = cli_parse_options(argc, argv, &syntax);

	if (status == CLI_OPTIONS_PARSED)
		status = inspect_check_arguments(&options, argc, argv);
	if (status == CLI_OPTIONS_PARSED) {
		_cleanup_close_ int dir_fd = session_open_directory(), fd = -1;
		_cleanup_free_ char *name = NULL;

		fd = dir_fd < 0 ? -1 : session_connect(dir_fd, argv[optind], &name);
		status = fd < 0 || inspect_take_arguments(&options, argv + optind + 1) < 0
				 ? CLI_EXIT_ERROR
				 : inspect_in_session(&options, fd);
	}
	inspect_release(&options);
	return status;
}
