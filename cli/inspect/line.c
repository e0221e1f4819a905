#include "cli/inspect/line.h"

#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup-json.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/text.h"
#include "cli/host/program.h"
#include "cli/inspect/command-add.h"
#include "cli/inspect/judge.h"
#include "cli/inspect/parts.h"
#include "cli/inspect/startup.h"
#include "cli/inspect/state.h"
#include "cli/inspect/words.h"

#define LINE_PATHS_MAX 8     /* directories in which scripts have programs looked for */
#define LINE_LINES_MAX 1000u /* command lines; parts.c limits how many files are looked at */
#define LINE_DEPTH_MAX 8     /* programs that start one another by their command lines */

static int line_follow_commands(struct inspect_program *inspection, const struct inspect_line *line, const char *script,
				const char *path);

/* "#!INTERPRETER ARGUMENT": looks at the command line that the kernel makes of it. 0 or -errno. */
static int line_look_at_interpreter(struct inspect_program *inspection, const struct inspect_line *line,
				    const char *script, char *text)
{
	_cleanup_list_ struct cli_list words = {0};
	struct inspect_line inner = {.depth = line->depth + 1, .already_looked = script};
	const int r = inspect_make_script_words(text, script, line->argv + 1, &words);

	inner.argv = words.item;
	return r == 0 && words.count > 0 ? inspect_line_look(inspection, &inner) : r;
}

/*
 * Looks at the program itself, by one of its names, at the interpreter of its "#!" line, and, if it is a shell script,
 * at what it runs. Of an interpreter of the system only what refuses it is told: its own calls are for its scripts.
 * *command is read anew if the program is a link to one of another name. False in *ret_is_found: there is none of this
 * name.
 */
static int line_look_at_program(struct inspect_program *inspection, const struct inspect_line *line, const char *name,
				struct inspect_command *command, bool *ret_is_found)
{
	_cleanup_free_ char *found = NULL, *path = inspection->find_file(inspection->data, name, true, &found);
	/* what a shell finds along PATH is mostly built into it, or the system's */
	const bool may_be_built_in = line->is_of_shell && !strchr(name, '/');
	char first[SCRIPT_FIRST_LINE_BYTES_MAX + 1], real[PATH_MAX];
	const bool was_of_interpreter = inspection->is_of_interpreter;
	int r = 0;

	if (path && !inspect_command_starts_other(command)) {
		if (realpath(path, real))
			*command = inspect_read_command(strrchr(real, '/') + 1, line->argv);
		else if (!io_error_means_absent(-errno))
			return -errno;
	}
	/* of a session, the path is that of a descriptor in another view */
	if (inspect_command_starts_other(command) &&
	    (inspect_parts_is_of_system(path) || inspect_parts_is_named_of_system(found)))
		inspection->is_of_interpreter = true;
	if (!may_be_built_in || (path && !inspect_parts_is_of_system(path)))
		r = inspect_parts_look_at_program(inspection, name, path, found, ret_is_found);
	if (r == 0)
		r = line_follow_commands(inspection, line, name, strchr(name, '/') ? name : found);
	if (r == 0 && path && found)
		r = program_read_script_line(path, first);
	if (r > 0)
		r = line_look_at_interpreter(inspection, line, found, first + 2);
	inspection->is_of_interpreter = was_of_interpreter;
	return r;
}

/* Looks at the program by a name with a slash, in all directories where it may be. 0 or -errno. */
static int line_look_in_directories(struct inspect_program *inspection, const struct inspect_line *line,
				    const char *name, struct inspect_command *command, bool *ret_is_found)
{
	char *joined;
	int r = 0;

	*ret_is_found = false;
	for (size_t i = 0; r == 0 && (joined = inspect_parts_join(inspection, i, name)); i++) {
		_cleanup_free_ char *shown = joined;
		bool is_found = true;

		r = line_look_at_program(inspection, line, shown, command, &is_found);
		*ret_is_found = *ret_is_found || is_found;
	}
	return r;
}

/* Looks at the program in the directories that the script has added to PATH. 0 or -errno. */
static int line_look_along_paths(struct inspect_program *inspection, const struct inspect_line *line,
				 struct inspect_command *command)
{
	bool is_found;
	int r = 0;

	for (size_t i = 0; r == 0 && i < inspection->paths.count; i++) {
		_cleanup_free_ char *name = text_format("%s/%s", inspection->paths.item[i], command->program);

		r = name ? line_look_in_directories(inspection, line, name, command, &is_found) : -ENOMEM;
		if (r == 0 && !is_found)
			r = inspect_parts_keep_missing(inspection, name);
	}
	return r;
}

/* Looks at the program wherever it may be. 0 or -errno. */
static int line_look_at_programs(struct inspect_program *inspection, const struct inspect_line *line,
				 struct inspect_command *command)
{
	const char *program = command->program;
	const bool has_slash = strchr(program, '/'), is_relative = has_slash && *program != '/';
	bool is_found = true;
	int r;

	if (line->is_of_shell && command->assignment_count > 0 && command->assignments == line->argv)
		return 0;
	if (line->is_of_shell && (!*program || (inspection->is_lost && is_relative)))
		return inspect_tell(inspection, "%s: a command that the shell puts together or looks for", program);
	if (is_relative)
		r = line_look_in_directories(inspection, line, program, command, &is_found);
	else
		r = line_look_at_program(inspection, line, program, command, &is_found);
	if (r == 0 && !has_slash)
		r = line_look_along_paths(inspection, line, command);
	/* of the system's, no program makes one */
	return r == 0 && !is_found && !(line->is_of_shell && inspect_parts_is_of_system(program))
		       ? inspect_parts_tell_missing(inspection, program)
		       : r;
}

/* Looks at a script of an interpreter, and, if it is one of a shell, at what it runs. 0 or -errno. */
static int line_look_at_script(struct inspect_program *inspection, const struct inspect_line *line, const char *name,
			       enum inspect_type type)
{
	const int r = inspect_parts_look_at_script(inspection, name, type);

	return r == 0 ? inspect_line_follow_commands(inspection, line, name) : r;
}

/* Looks at the first of these files in the home directory that is there. 0 or -errno. */
static int line_look_at_first(struct inspect_program *inspection, const struct inspect_line *line,
			      const char *const *files)
{
	bool is_found = false;
	int r = 0;

	if (!inspection->home || strchr(inspection->home, '$'))
		return inspect_tell(inspection, "~/%s: HOME is not known", *files);
	for (size_t i = 0; r == 0 && !is_found && files[i]; i++) {
		_cleanup_free_ char *name = text_format("%s/%s", inspection->home, files[i]);

		r = name ? inspect_parts_look_at_optional(inspection, name, &is_found) : -ENOMEM;
		if (r == 0)
			r = is_found ? inspect_line_follow_commands(inspection, line, name)
				     : inspect_parts_keep_missing(inspection, name);
	}
	/* what ran before in the same script may make it */
	return r == 0 && !is_found && line->is_of_shell ? inspect_tell(inspection, "~/%s: not there", *files) : r;
}

/* Looks at the files that a shell runs before its script. 0 or -errno. */
static int line_look_at_startup(struct inspect_program *inspection, const struct inspect_line *line,
				struct inspect_command *command)
{
	const char *const *files;
	int r = 0;

	command->is_login = command->is_login || line->is_login;
	/* a shell that reads commands from a terminal is interactive without an option */
	command->is_interactive =
		command->is_interactive || (command->comes_on_stdin && !line->has_own_input && inspection->reads_stdin);
	for (size_t i = 0; r == 0 && (files = inspect_get_startup_files(command, i)); i++)
		r = line_look_at_first(inspection, line, files);
	return r;
}

int inspect_line_look_at_loaded(struct inspect_program *inspection, const struct inspect_line *line,
				const struct inspect_command *command)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < command->loaded_count; i++)
		r = line_look_at_script(inspection, line, command->loaded[i], command->loaded_type[i]);
	return r == 0 && command->unseen ? inspect_tell(inspection, "what %s starts or loads", command->unseen) : r;
}

int inspect_line_look_at_assignments(struct inspect_program *inspection, const struct inspect_line *line,
				     char *const *assignments, size_t count)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < count && !line->is_of_shell; i++)
		r = inspect_tell_assignment(inspection, assignments[i]);
	return r;
}

/* ---- what a shell runs ---- */

/*
 * Looks at a command line that runs in one of these directories, below those of the inspection. Of a file that is
 * sourced, the directories where it ends are added to those. 0 or -errno.
 */
static int line_look_below(struct inspect_program *inspection, const struct cli_list *below,
			   const struct inspect_line *line)
{
	struct cli_list before = inspection->directories, directories = {0};
	const bool was_lost = inspection->is_lost;
	int r = inspect_state_add_directories(inspection, below, &directories);
	const size_t count = directories.count;

	inspection->directories = directories;
	if (r == 0)
		r = inspect_line_look(inspection, line);
	directories = inspection->directories;
	inspection->directories = before;
	if (!line->is_sourced)
		inspection->is_lost = was_lost;
	if (r == 0 && directories.count > count)
		r = inspect_state_add_ends(inspection, &directories, count);
	cli_list_release(&directories);
	return r;
}

/* Looks at a command that a shell runs, as its parser tells it. 0 or -errno. */
static int line_look_at_command(struct inspect_program *inspection, const struct inspect_line *line, const json_t *told)
{
	_cleanup_list_ struct cli_list words = {0}, below = {0};
	const struct inspect_state state = inspect_state_save(inspection);
	const bool has_new_input = inspection->has_other_input || json_is_true(json_object_get(told, "input"));
	const char *const document = json_string_value(json_object_get(told, "document"));
	struct inspect_line inner = {.depth = line->depth + 1,
				     .is_of_shell = true,
				     .is_sourced = json_is_true(json_object_get(told, "sourced")),
				     .has_own_input = line->has_own_input || has_new_input,
				     .document = has_new_input ? document : line->document};
	int r = inspect_read_words(json_object_get(told, "words"), &words);

	if (r == 0)
		r = inspect_read_words(json_object_get(told, "directories"), &below);
	if (r == 0)
		r = inspect_add_new_words(json_object_get(told, "paths"), &inspection->paths);
	inspection->is_lost = inspection->is_lost || json_is_true(json_object_get(told, "lost"));
	inner.argv = words.item;
	if (r == -EBADMSG || (r == 0 && words.count == 0))
		r = inspect_tell(inspection, "further commands");
	else if (r == 0 && inspection->paths.count > LINE_PATHS_MAX)
		r = inspect_tell(inspection, "programs in more than %d directories", LINE_PATHS_MAX);
	else if (r == 0)
		r = line_look_below(inspection, &below, &inner);
	if (r == 0 && json_is_true(json_object_get(told, "cut")))
		r = inspect_tell(inspection, "the further words of a long command");
	if (!inner.is_sourced)
		inspect_state_restore(inspection, &state);
	return r;
}

/* Keeps the state at the end of the visited file of this number. 0 or -ENOMEM. */
static int line_keep_end(struct inspect_program *inspection, size_t number)
{
	char *end = inspect_state_describe(inspection);

	if (!end)
		return -ENOMEM;
	free(inspection->ends.item[number]);
	inspection->ends.item[number] = end;
	return 0;
}

/* Looks at one of the inspection's commands, or takes the state that it tells. 0 or -errno. */
static int line_follow_command(struct inspect_program *inspection, const struct inspect_line *line, const char *script,
			       const char *directory, const char *command)
{
	_cleanup_json_ json_t *told = json_loads(*command == '=' ? command + 1 : command, 0, NULL);

	inspect_put_directories(inspection->own_directory, directory, told);
	if (*command == '+')
		return line_keep_end(inspection, (size_t)strtoull(command + 1, NULL, 10));
	if (*command == '=')
		return inspect_state_take(inspection, told, false);
	if (json_is_true(json_object_get(told, "end")) && inspect_state_take(inspection, told, true) == 0)
		return 0;
	if (script)
		inspection->script_line = (unsigned)json_integer_value(json_object_get(told, "line"));
	return line_look_at_command(inspection, line, told);
}

/* As inspect_line_follow_commands(). path: where the script is; NULL: nowhere. */
static int line_follow_commands(struct inspect_program *inspection, const struct inspect_line *line, const char *script,
				const char *path)
{
	_cleanup_free_ char *directory = path ? text_copy_directory(path) : NULL;
	_cleanup_list_ struct cli_list commands = inspection->commands;
	const char *const script_before = inspection->script, *const own_before = inspection->own_directory;
	const unsigned line_before = inspection->script_line;
	int r = 0;

	inspection->commands = (struct cli_list){0};
	inspection->script = script ? script : script_before;
	if (!line->is_sourced)
		inspection->own_directory = directory;
	for (size_t i = 0; r == 0 && i < commands.count; i++)
		r = line_follow_command(inspection, line, script, directory, commands.item[i]);
	inspection->script = script_before;
	inspection->script_line = line_before;
	inspection->own_directory = own_before;
	return r;
}

int inspect_line_follow_commands(struct inspect_program *inspection, const struct inspect_line *line,
				 const char *script)
{
	return line_follow_commands(inspection, line, script, script);
}

int inspect_line_look_at_code(struct inspect_program *inspection, const struct inspect_line *line, const char *code,
			      enum inspect_type type)
{
	int r;

	if (line->is_of_shell && !*code)
		return inspect_tell(inspection, "code that the shell puts together");
	r = inspect_parts_look_at_code(inspection, code, type);
	return r == 0 ? inspect_line_follow_commands(inspection, line, NULL) : r;
}

/* Looks at what an interpreter reads from its standard input. 0 or -errno. */
static int line_look_at_stdin(struct inspect_program *inspection, const struct inspect_line *line,
			      enum inspect_type type)
{
	struct inspect_line reader = *line;
	int r;

	reader.has_own_input = true; /* what it runs reads what it has left of its input */
	reader.document = NULL;
	if (!line->has_own_input) {
		r = inspect_parts_look_at_stdin(inspection, type);
		return r == 0 ? inspect_line_follow_commands(inspection, &reader, "standard input") : r;
	}
	if (line->document)
		return inspect_line_look_at_code(inspection, &reader, line->document, type);
	return inspect_tell(inspection, "a program that is read from standard input");
}

/* ---- one command line ---- */

/* Tells once a file that code of a language has no parser: a script may have hundreds of lines of awk. 0 or -errno. */
static int line_tell_unread(struct inspect_program *inspection, const char *language)
{
	_cleanup_free_ char *what = text_format("code of %s: no parser for it here", language);

	if (!what)
		return -ENOMEM;
	return inspect_findings_have(inspection->code_findings, INSPECT_NOT_LOOKED_AT, what)
		       ? 0
		       : inspect_tell(inspection, "%s", what);
}

/* Looks at code on the command line, and what is read from standard input. 0 or -errno. */
static int line_look_at_codes(struct inspect_program *inspection, const struct inspect_line *line,
			      const struct inspect_command *command)
{
	const bool reads_stdin = command->comes_on_stdin && !line->adds_arguments;
	int r = 0;

	if (inspection->code_findings && command->type == INSPECT_TYPE_TEXT &&
	    (command->code_count > 0 || (reads_stdin && line->document)))
		return line_tell_unread(inspection, command->program);
	for (size_t i = 0; r == 0 && i < command->code_count; i++)
		r = inspect_line_look_at_code(inspection, line, command->code[i], command->type);
	return r == 0 && reads_stdin ? line_look_at_stdin(inspection, line, command->type) : r;
}

/* Looks at script, module, code or standard input of an interpreter. 0 or -errno. */
static int line_look_at_parts(struct inspect_program *inspection, const struct inspect_line *line,
			      const struct inspect_command *command)
{
	const bool is_looked =
		command->script && line->already_looked && strcmp(command->script, line->already_looked) == 0;
	int r = 0;

	if (command->script && !is_looked)
		r = line_look_at_script(inspection, line, command->script, command->type);
	if (r == 0 && command->module)
		r = inspect_parts_look_at_module(inspection, command->module);
	if (r == 0)
		r = line_look_at_codes(inspection, line, command);
	if (r == 0 && line->adds_arguments && !command->starts_none &&
	    (command->comes_on_stdin || (command->type == INSPECT_TYPE_MAX && !inspect_command_starts_other(command))))
		r = inspect_tell(inspection, "the arguments that %s gets", command->program);
	return r;
}

/* Looks at a command line that this one starts. 0 or -errno. */
static int line_look_at_inner(struct inspect_program *inspection, const struct inspect_line *line,
			      const struct inspect_command *command, char *const *argv)
{
	_cleanup_list_ struct cli_list words = {0}, below = {0};
	const char *const home_before = inspection->home;
	struct inspect_line inner = *line;
	int r = cli_list_add_owned(&below, strdup(command->directory ? command->directory : ""));

	inner.depth++;
	inner.argv = argv;
	inner.adds_arguments = line->adds_arguments || command->adds_arguments;
	inner.is_login = command->makes_login;
	if (command->inner_text) {
		r = r < 0 ? r : inspect_make_split_words(command->program, command->inner_text, argv, &words);
		inner.argv = words.item;
	}
	if (r == -EINVAL)
		return inspect_tell(inspection, "%s", command->inner_text);
	inspection->home = command->home ? command->home : home_before;
	if (r == 0 && inner.argv && *inner.argv)
		r = line_look_below(inspection, &below, &inner);
	if (!line->is_sourced || inspection->home == command->home)
		inspection->home = home_before;
	return r;
}

/* Looks at all command lines that this one starts. 0 or -errno. */
static int line_look_at_inners(struct inspect_program *inspection, const struct inspect_line *line,
			       const struct inspect_command *command)
{
	char *const *argv = command->inner;
	int r = argv || command->inner_text ? line_look_at_inner(inspection, line, command, argv) : 0;

	while (r == 0 && argv && (argv = inspect_command_get_next_inner(command, argv)))
		r = line_look_at_inner(inspection, line, command, argv);
	return r;
}

/* Looks at the program, the files that it loads or runs, and code. *command may be read anew. 0 or -errno. */
static int line_look_at_files(struct inspect_program *inspection, const struct inspect_line *line,
			      struct inspect_command *command)
{
	int r = line_look_at_programs(inspection, line, command);

	if (r == 0)
		r = inspect_line_look_at_assignments(inspection, line, command->assignments, command->assignment_count);
	if (r == 0)
		r = line_look_at_startup(inspection, line, command);
	if (r == 0)
		r = inspect_line_look_at_loaded(inspection, line, command);
	return r == 0 ? line_look_at_parts(inspection, line, command) : r;
}

/* Looks at all that a command line runs, which may change the state of the inspection. 0 or -errno. */
static int line_look_at_all(struct inspect_program *inspection, const struct inspect_line *line)
{
	struct inspect_command command = inspect_read_command(NULL, line->argv);
	int r;

	if (inspection->line_count++ >= LINE_LINES_MAX)
		return inspection->line_count == LINE_LINES_MAX + 1
			       ? inspect_tell_limit(inspection, "commands", LINE_LINES_MAX)
			       : 0;
	if (line->depth > LINE_DEPTH_MAX)
		return inspect_tell(inspection, "%s: more than %d programs that start one another", command.program,
				    LINE_DEPTH_MAX);
	r = inspection->code_findings ? line_look_at_codes(inspection, line, &command)
				      : line_look_at_files(inspection, line, &command);
	return r == 0 ? line_look_at_inners(inspection, line, &command) : r;
}

int inspect_line_look(struct inspect_program *inspection, const struct inspect_line *line)
{
	const struct inspect_state state = inspect_state_save(inspection);
	const char *const input_before = inspection->input;
	int r;

	inspection->input = line->document ? line->document : line->has_own_input ? "" : NULL;
	r = line_look_at_all(inspection, line);
	inspection->input = input_before;
	if (!line->is_sourced)
		inspect_state_restore(inspection, &state);
	return r;
}
