#include "cli/inspect/parser.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/installed.h"
#include "base/io.h"
#include "base/text.h"
#include "cli/host/program.h"
#include "cli/inspect/protocol.h"

#define PARSER_RESULT_BYTES_MAX (16u << 20) /* of the result of callgate run, which has at most 1 MiB of output */
#define PARSER_NOT_THERE_STATUS 3           /* the exit status of javascript.js without acorn */
#define PARSER_ARGUMENTS_MAX 32
#define PARSER_ELF_PROGRAM "callgate-elf"
#define PARSER_ACORN "/usr/share/nodejs"

/* How a type of file is parsed. */
struct parser {
	const char *interpreter;    /* found in PATH; NULL: no interpreter, but callgate-elf */
	const char *further;        /* another program that the parser starts; NULL: none */
	const char *const *options; /* of the interpreter; NULL-ended */
	const char *file;           /* below the directory of the parsers */
	const char *policy;         /* below the directory of the parsers */
};

static const char *const python_options[] = {"-I", "-S", "-B", NULL};
/* node gives its own acorn only with the first option. With the others it resolves no links above its files. */
static const char *const node_options[] = {"--expose-internals", "--preserve-symlinks", "--preserve-symlinks-main",
					   NULL};

static const struct parser parsers[INSPECT_TYPE_MAX] = {
	[INSPECT_TYPE_ELF] = {.policy = "policy.json"},
	[INSPECT_TYPE_PYTHON] = {"python3", NULL, python_options, "python.py", "interpreter.json"},
	[INSPECT_TYPE_JAVASCRIPT] = {"node", NULL, node_options, "javascript.js", "interpreter.json"},
	[INSPECT_TYPE_SHELL] = {"python3", "bash", python_options, "shell.py", "interpreter.json"},
	[INSPECT_TYPE_NOTEBOOK] = {"python3", NULL, python_options, "documents.py", "interpreter.json"},
	[INSPECT_TYPE_PACKAGE] = {"python3", NULL, python_options, "documents.py", "interpreter.json"},
};

/* The command line of callgate run. */
struct parser_command {
	const char *argv[PARSER_ARGUMENTS_MAX + 1]; /* borrowed; NULL-ended */
	size_t count;
	char dir[PATH_MAX]; /* of the parsers */
	char file[PATH_MAX], policy[PATH_MAX];
	char elf_program[PATH_MAX];
	char *interpreter, *further; /* owned */
};

static void parser_command_release(struct parser_command *command)
{
	free(command->interpreter);
	free(command->further);
}

/* ---- the command ---- */

static void parser_add(struct parser_command *command, const char *argument)
{
	if (command->count < PARSER_ARGUMENTS_MAX)
		command->argv[command->count++] = argument;
}

static void parser_add_pair(struct parser_command *command, const char *option, const char *value)
{
	parser_add(command, option);
	parser_add(command, value);
}

/* Finds the directory $CALLGATE_PARSERS, or the installed one, or that of the build tree. 0 or -ENOENT. */
static int parser_find_dir(char ret_dir[PATH_MAX])
{
	const char *own = getenv("CALLGATE_PARSERS");

	if (own && strlen(own) < PATH_MAX && access(own, R_OK) == 0) {
		(void)snprintf(ret_dir, PATH_MAX, "%s", own);
		return 0;
	}
	(void)snprintf(ret_dir, PATH_MAX, "%s/parsers", PKGDATADIR);
	if (access(ret_dir, R_OK) == 0)
		return 0;
	return installed_get_sibling_path("cli/inspect/parsers", ret_dir) && access(ret_dir, R_OK) == 0 ? 0 : -ENOENT;
}

static int parser_find_files(const struct parser *parser, struct parser_command *command)
{
	char real[PATH_MAX];
	int r = parser_find_dir(command->dir);

	if (r < 0)
		return r;
	if (!realpath(command->dir, real))
		return -errno;
	memcpy(command->dir, real, sizeof(real));
	if (snprintf(command->file, PATH_MAX, "%s/%s", real, parser->file ? parser->file : "") >= PATH_MAX ||
	    snprintf(command->policy, PATH_MAX, "%s/%s", real, parser->policy) >= PATH_MAX)
		return -ENAMETOOLONG;
	return 0;
}

/* Finds the programs. 0, or a negative errno; -ESRCH: one is not installed, and *ret_missing is its name. */
static int parser_find_programs(const struct parser *parser, struct parser_command *command, const char **ret_missing)
{
	if (!parser->interpreter)
		return installed_find_file(PARSER_ELF_PROGRAM, command->elf_program);
	command->interpreter = program_find_executable(parser->interpreter);
	if (!command->interpreter) {
		*ret_missing = parser->interpreter;
		return -ESRCH;
	}
	/* without the further program, the parser does without */
	command->further = parser->further ? program_find_executable(parser->further) : NULL;
	return 0;
}

static void parser_compose(const struct parser *parser, struct parser_command *command)
{
	const char *program = parser->interpreter ? command->interpreter : command->elf_program;

	parser_add_pair(command, "callgate", "run");
	parser_add(command, "--json");
	parser_add(command, "--quiet");
	parser_add(command, "--die-with-parent"); /* also of a look that is given up, by SIGKILL */
	parser_add(command, "-i");
	parser_add_pair(command, "-p", command->policy);
	parser_add_pair(command, "-x", program);
	if (parser->interpreter)
		parser_add_pair(command, "-r", command->dir);
	if (command->further)
		parser_add_pair(command, "-x", command->further);
	if (access(PARSER_ACORN, R_OK) == 0)
		parser_add_pair(command, "-r", PARSER_ACORN);
	parser_add_pair(command, "--", program);
	for (const char *const *option = parser->options; option && *option; option++)
		parser_add(command, *option);
	if (parser->file)
		parser_add(command, command->file);
	if (command->further)
		parser_add(command, command->further);
}

/* ---- running it ---- */

__attribute__((noreturn)) static void parser_become_run(const struct parser_command *command, int file_fd,
							int result_fd)
{
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	if (null < 0 || lseek(file_fd, 0, SEEK_SET) < 0 || dup2(file_fd, STDIN_FILENO) < 0 ||
	    dup2(result_fd, STDOUT_FILENO) < 0 || dup2(null, STDERR_FILENO) < 0)
		_exit(CLI_EXIT_ERROR);
	(void)execv("/proc/self/exe", (char *const *)(uintptr_t)command->argv);
	_exit(CLI_EXIT_ERROR);
}

/* Runs the command, and returns its result (callgate run --json). Owned; NULL: it has none. */
static json_t *parser_run_command(const struct parser_command *command, int file_fd)
{
	_cleanup_close_ int from = -1;
	_cleanup_free_ char *text = NULL;
	int ends[2], status;
	size_t len = 0;
	pid_t pid;
	int r;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return NULL;
	from = ends[0];
	pid = fork();
	if (pid == 0)
		parser_become_run(command, file_fd, ends[1]);
	(void)close(ends[1]);
	if (pid < 0)
		return NULL;
	r = io_read_fd(from, PARSER_RESULT_BYTES_MAX, &text, &len);
	close_fd(&from); /* a run that still writes ends */
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return r == 0 ? json_loadb(text, len, JSON_ALLOW_NUL, NULL) : NULL;
}

/* ---- the result ---- */

static const char *parser_get_text(const json_t *object, const char *key, const char *otherwise)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : otherwise;
}

/* Takes the output of a parser, also what one has found that was ended. */
static int parser_take_output(const json_t *result, const struct inspect_subject *subject,
			      const struct cli_list *allowed, struct inspect_findings *findings)
{
	const json_t *output = json_object_get(result, "stdout");

	if (!json_is_string(output))
		return -EBADMSG;
	return inspect_take_output(json_string_value(output), json_string_length(output), subject->lines, allowed,
				   findings);
}

/* Makes a finding of a parser that failed. */
static int parser_add_failure(const json_t *result, struct inspect_findings *findings)
{
	const char *status = parser_get_text(result, "status", "?");
	_cleanup_free_ char *what = NULL;

	if (strcmp(status, "ok") == 0)
		what = strdup("could not be parsed: the parser printed what it may not");
	else
		what = text_format("could not be parsed: the parser ended with status %s (%lld)", status,
				   (long long)json_integer_value(json_object_get(result, "exit_code")));
	return what ? inspect_findings_add(findings, INSPECT_UNPARSABLE, 0, what) : -ENOMEM;
}

/* Removes the files in which callgate run keeps output that is too long, or no UTF-8. */
static void parser_remove_kept_output(const json_t *result)
{
	static const char *const keys[] = {"stdout_path", "stderr_path"};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		const char *path = json_string_value(json_object_get(result, keys[i]));

		if (path)
			(void)unlink(path); /* if it fails, it is swept with the results of other runs */
	}
}

static int parser_take_result(const json_t *result, const struct inspect_subject *subject,
			      const struct cli_list *allowed, struct inspect_findings *findings)
{
	const char *status = parser_get_text(result, "status", "error");
	json_int_t exit_code = json_integer_value(json_object_get(result, "exit_code"));
	int r;

	if (strcmp(status, "error") == 0 || (json_is_object(json_object_get(result, "error")) && exit_code >= 125)) {
		cli_print_error("inspect", "%s: cannot run its parser: %s", subject->path,
				parser_get_text(json_object_get(result, "error"), "message", "callgate run failed"));
		return -ECANCELED;
	}
	if (exit_code == PARSER_NOT_THERE_STATUS && subject->type == INSPECT_TYPE_JAVASCRIPT)
		return inspect_findings_add(findings, INSPECT_NOT_PARSED, 0, "no acorn here");
	r = parser_take_output(result, subject, allowed, findings);
	if (r == 0 && strcmp(status, "ok") != 0)
		r = -EBADMSG;
	return r == -EBADMSG ? parser_add_failure(result, findings) : r;
}

int inspect_run_parser(const struct inspect_subject *subject, const struct cli_list *allowed,
		       struct inspect_findings *findings)
{
	const struct parser *parser = &parsers[subject->type];
	struct parser_command command = {.count = 0};
	const char *missing = NULL;
	json_t *result;
	int r;

	if (!parser->policy)
		return inspect_findings_add(findings, INSPECT_NOT_PARSED, 0,
					    subject->type == INSPECT_TYPE_TEXT
						    ? "no parser for this kind of file: only characters and secrets "
						      "were looked at"
						    : "no parser for this kind of file: nothing was looked at");
	r = parser_find_programs(parser, &command, &missing);
	if (r == 0)
		r = parser_find_files(parser, &command);
	if (r == 0) {
		parser_compose(parser, &command);
		result = parser_run_command(&command, subject->fd);
		r = parser_take_result(result, subject, allowed, findings);
		parser_remove_kept_output(result);
		json_decref(result);
	} else if (r == -ESRCH) {
		_cleanup_free_ char *what = text_format("no %s here", missing);

		r = what ? inspect_findings_add(findings, INSPECT_NOT_PARSED, 0, what) : -ENOMEM;
	}
	parser_command_release(&command);
	return r;
}
