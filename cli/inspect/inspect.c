#include "cli/inspect/inspect.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "approval/show.h"
#include "base/cleanup.h"
#include "cli/inspect/program.h"

#define INSPECT_JSON_SCHEMA "callgate-inspect/1"
#define INSPECT_EXIT_FOUND 1 /* there are findings of the level of --fail-on */

/* The options of the verb. */
struct inspect_options {
	bool json;
	enum inspect_type type;            /* INSPECT_TYPE_MAX: told from the file */
	enum inspect_level least, fail_on; /* fail_on: INSPECT_LEVEL_MAX for "none" */
	struct cli_list modules;
};

static int inspect_set_level(const struct cli_given_option *given, void *field)
{
	enum inspect_level *level = field;

	/* only --fail-on, whose parameter is 1, takes "none" */
	if (given->setter_param == 1 && strcmp(given->value, "none") == 0) {
		*level = INSPECT_LEVEL_MAX;
		return 0;
	}
	return inspect_level_find(given->value, level)
		       ? 0
		       : cli_refuse_value(given, "%s",
					  given->setter_param == 1 ? "note, warning, alarm or none"
								   : "note, warning or alarm");
}

static int inspect_set_type(const struct cli_given_option *given, void *field)
{
	return inspect_type_find(given->value, field)
		       ? 0
		       : cli_refuse_value(given, "%s",
					  "elf, python, javascript, shell, notebook, package, text or data");
}

#define AT(member) offsetof(struct inspect_options, member)

static const struct cli_option table[] = {
	{"allow-module", 0, "NAME",
	 "alarm about imports of other modules; may be given more than once;\n"
	 "@standard: the language's own library",
	 cli_add_text, AT(modules), 0},
	{"type", 0, "TYPE",
	 "take the files for this: elf, python, javascript, shell, notebook, package,\n"
	 "text, data",
	 inspect_set_type, AT(type), 0},
	{"level", 0, "LEVEL", "print findings of this level and worse: note (default), warning, alarm",
	 inspect_set_level, AT(least), 0},
	{"fail-on", 0, "LEVEL",
	 "exit status 1 if there are findings of this level or worse: note, warning,\n"
	 "alarm (default); none: never",
	 inspect_set_level, AT(fail_on), 1},
	CLI_FLAG("json", 0, "print one JSON object", AT(json)),
	{0},
};

static const char usage[] =
	"Usage: callgate inspect [OPTION...] FILE...\n\n"
	"Looks at Python, JavaScript and shell programs, notebooks, package.json and ELF files without running them,\n"
	"and names what is of note: imports, network, subprocesses, native code, code that is made at run time,\n"
	"secrets, invisible characters, what a program loads. Their parsers run in a sandbox. This is no boundary: a\n"
	"program can do what inspect does not see. What it may do is for callgate run to enforce.\n\n";

/* Looks at one file, and prints or adds what it found. *ret_fails: the level of --fail-on was met. 0 or -errno. */
static int inspect_file(const struct inspect_options *options, const char *path, json_t *files, bool *ret_fails)
{
	_cleanup_findings_ struct inspect_findings findings = {0};
	enum inspect_level worst;
	enum inspect_type type;
	int r = inspect_look_at_file(path, options->type, options->modules.count > 0 ? &options->modules : NULL,
				     &findings, &type);

	if (r == 0)
		r = inspect_program_look_at_inner_code(path, &options->modules, &findings);
	if (r < 0)
		return r;
	inspect_findings_sort(&findings);
	*ret_fails = inspect_findings_get_worst(&findings, &worst) && worst >= options->fail_on;
	if (!options->json)
		return inspect_print_text(path, &findings, options->least);
	return json_array_append_new(files, inspect_make_json(path, type, &findings, options->least)) < 0 ? -ENOMEM : 0;
}

/* In ASCII: names and texts of a hostile program do not reach a terminal, on which they could look like others. */
static int inspect_print_json(json_t *files)
{
	json_t *all = json_pack("{s:s, s:O}", "schema", INSPECT_JSON_SCHEMA, "files", files);
	_cleanup_free_ char *text = show_as_json(all, JSON_INDENT(2));
	int printed = cli_print_text("inspect", text);

	json_decref(all);
	return printed == CLI_EXIT_OK ? cli_print_text("inspect", "\n") : printed;
}

/* Looks at all files; one that cannot be looked at does not keep it from the others. Returns the exit status. */
static int inspect_files(const struct inspect_options *options, char **paths)
{
	json_t *files = json_array();
	int status = CLI_EXIT_OK, printed;

	for (; *paths; paths++) {
		bool fails = false;

		if (inspect_file(options, *paths, files, &fails) < 0)
			status = CLI_EXIT_ERROR;
		else if (fails && status == CLI_EXIT_OK)
			status = INSPECT_EXIT_FOUND;
	}
	printed = options->json ? inspect_print_json(files) : cli_print_text("inspect", "");
	json_decref(files);
	return printed == CLI_EXIT_OK ? status : CLI_EXIT_ERROR;
}

int cli_main_inspect(int argc, char **argv)
{
	struct inspect_options options = {.type = INSPECT_TYPE_MAX, .fail_on = INSPECT_ALARM};
	const struct cli_syntax syntax = {
		.verb = "inspect",
		.usage = usage,
		.epilogue = "\nExit status: 0 nothing of the level of --fail-on; 1 such findings; 125 an error.\n",
		.allows_mixed_order = true,
		.table = {{NULL, table, &options}},
	};
	int status = cli_parse_options(argc, argv, &syntax);

	if (status == CLI_OPTIONS_PARSED && optind == argc) {
		cli_print_error("inspect", "name a file");
		status = cli_fail_usage("inspect");
	}
	if (status == CLI_OPTIONS_PARSED)
		status = inspect_files(&options, argv + optind);
	cli_list_release(&options.modules);
	return status;
}
