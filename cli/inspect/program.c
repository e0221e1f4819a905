#include "cli/inspect/program.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/host/program.h"
#include "cli/inspect/command.h"
#include "cli/inspect/parts.h"
#include "cli/inspect/words.h"
#include "policy/findings.h"

#define PROGRAM_DEPTH_MAX 8 /* programs that start one another by their command lines */

/* A command line that is being looked at. */
struct program_line {
	char *const *argv; /* NULL-ended, not empty */
	unsigned depth;
	bool adds_arguments;        /* what starts it adds arguments (xargs) */
	const char *already_looked; /* a script that was looked at; NULL: none */
};

static int program_look_at_line(struct inspect_program *inspection, const struct program_line *line);

/* Whether the command line starts something that is looked at by itself. */
static bool program_starts_other(const struct inspect_command *command)
{
	return command->script || command->code || command->module || command->comes_on_stdin || command->inner ||
	       command->inner_text || command->unseen;
}

/* "#!INTERPRETER ARGUMENT": looks at the command line that the kernel makes of it. 0 or -errno. */
static int program_look_at_interpreter(struct inspect_program *inspection, const struct program_line *line,
				       const char *script, char *text)
{
	char *name = text + strspn(text, " \t"), *argument = name + strcspn(name, " \t");
	_cleanup_list_ struct cli_list words = {0};
	struct program_line inner = {.depth = line->depth + 1, .already_looked = script};
	int r;

	for (size_t len = strlen(text); len > 0 && strchr(" \t", text[len - 1]); len--)
		text[len - 1] = '\0';
	if (*argument)
		*argument++ = '\0';
	argument += strspn(argument, " \t");
	if (!*name)
		return 0;
	r = cli_list_add_owned(&words, strdup(name));
	if (r == 0 && *argument)
		r = cli_list_add_owned(&words, strdup(argument));
	if (r == 0)
		r = cli_list_add_owned(&words, strdup(script));
	for (char *const *word = line->argv + 1; r == 0 && *word; word++)
		r = cli_list_add_owned(&words, strdup(*word));
	inner.argv = words.item;
	return r == 0 ? program_look_at_line(inspection, &inner) : r;
}

/*
 * Looks at the program itself, and at the interpreter of its "#!" line. Of an interpreter only what refuses it is told:
 * its own calls are for its scripts. *command is read anew if the program is a link to one of another name.
 */
static int program_look_at_program(struct inspect_program *inspection, const struct program_line *line,
				   struct inspect_command *command)
{
	_cleanup_free_ char *found = NULL,
			    *path = inspection->find_file(inspection->data, command->program, true, &found);
	char first[SCRIPT_FIRST_LINE_BYTES_MAX + 1], real[PATH_MAX];
	const uint32_t warned = inspection->warned;
	int r;

	if (path && !program_starts_other(command) && realpath(path, real))
		*command = inspect_read_command(strrchr(real, '/') + 1, line->argv);
	if (program_starts_other(command))
		inspection->warned = 0;
	r = inspect_parts_look_at_program(inspection, command->program, path, found);
	inspection->warned = warned;
	if (r == 0 && path && found && !program_starts_other(command) && program_read_script_line(path, first))
		r = program_look_at_interpreter(inspection, line, found, first + 2);
	return r;
}

/* Looks at what runs before the program: libraries, modules. 0 or -errno. */
static int program_look_at_loaded(struct inspect_program *inspection, const struct inspect_command *command)
{
	const bool is_node = command->type == INSPECT_TYPE_JAVASCRIPT;
	int r = 0;

	for (size_t i = 0; r == 0 && i < command->loaded_count; i++)
		if (is_node && !strchr("./", command->loaded[i][0]))
			r = inspect_parts_tell(inspection, "%s: no file that is named by a path", command->loaded[i]);
		else
			r = inspect_parts_look_at_script(inspection, command->loaded[i],
							 is_node ? command->type : INSPECT_TYPE_MAX);
	return r == 0 && command->unseen ? inspect_parts_tell(inspection, "what %s starts or loads", command->unseen)
					 : r;
}

/* Looks at script, code, module or standard input of an interpreter. 0 or -errno. */
static int program_look_at_parts(struct inspect_program *inspection, const struct program_line *line,
				 const struct inspect_command *command)
{
	const bool is_looked =
		command->script && line->already_looked && strcmp(command->script, line->already_looked) == 0;
	int r = 0;

	if (command->script && !is_looked)
		r = inspect_parts_look_at_script(inspection, command->script, command->type);
	if (r == 0 && command->code)
		r = inspect_parts_look_at_code(inspection, command->code, command->type);
	if (r == 0 && command->module)
		r = inspect_parts_look_at_module(inspection, command->module);
	if (r == 0 && command->comes_on_stdin && !line->adds_arguments)
		r = inspect_parts_look_at_stdin(inspection, command->type);
	if (r == 0 && line->adds_arguments &&
	    (command->comes_on_stdin || (command->type == INSPECT_TYPE_MAX && !program_starts_other(command))))
		r = inspect_parts_tell(inspection, "the arguments that %s gets", command->program);
	return r;
}

/* Looks at the command line that this one starts. 0 or -errno. */
static int program_look_at_inner(struct inspect_program *inspection, const struct program_line *line,
				 const struct inspect_command *command)
{
	_cleanup_list_ struct cli_list words = {0};
	struct program_line inner = *line;
	int r = 0;

	inner.depth++;
	inner.argv = command->inner;
	inner.adds_arguments = line->adds_arguments || command->adds_arguments;
	if (command->inner_text) {
		/* "env -S TEXT": the words stand in the place of the option */
		r = cli_list_add_owned(&words, strdup(command->program));
		if (r == 0)
			r = inspect_split_words(command->inner_text, &words);
		for (char *const *word = command->inner; r == 0 && word && *word; word++)
			r = cli_list_add_owned(&words, strdup(*word));
		inner.argv = words.item;
	}
	if (r == -EINVAL)
		return inspect_parts_tell(inspection, "%s", command->inner_text);
	return r == 0 && inner.argv && *inner.argv ? program_look_at_line(inspection, &inner) : r;
}

static int program_look_at_line(struct inspect_program *inspection, const struct program_line *line)
{
	struct inspect_command command = inspect_read_command(NULL, line->argv);
	int r;

	if (line->depth > PROGRAM_DEPTH_MAX)
		return inspect_parts_tell(inspection, "%s: more than %d programs that start one another",
					  command.program, PROGRAM_DEPTH_MAX);
	r = program_look_at_program(inspection, line, &command);
	if (r == 0)
		r = program_look_at_loaded(inspection, &command);
	if (r == 0)
		r = program_look_at_parts(inspection, line, &command);
	return r == 0 ? program_look_at_inner(inspection, line, &command) : r;
}

int inspect_program_look(struct inspect_program *inspection)
{
	const struct program_line line = {.argv = inspection->argv};

	return inspection->refused || inspection->warned ? program_look_at_line(inspection, &line) : 0;
}

int inspect_allow_module(struct cli_list *modules, const char *module)
{
	int r = modules->count == 0 ? cli_list_add_owned(modules, strdup("@standard")) : 0;

	return r == 0 ? cli_list_add_owned(modules, strdup(module)) : r;
}

void inspect_set_default(bool is_wanted, const struct cli_list *modules, uint32_t *refused, uint32_t *warned)
{
	if ((!is_wanted && modules->count == 0) || *refused || *warned)
		return;
	*refused = inspect_level_get_bits(INSPECT_ALARM);
	*warned = inspect_level_get_bits(INSPECT_WARNING);
}

void inspect_program_release(struct inspect_program *inspection)
{
	free(inspection->why);
	cli_list_release(&inspection->modules);
}
