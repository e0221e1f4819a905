#include "cli/inspect/inspect.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "approval/show.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/times.h"
#include "cli/inspect/program.h"

#define INSPECT_JSON_SCHEMA "callgate-inspect/1"
#define INSPECT_EXIT_FOUND 1 /* there are findings of the level of --fail-on */

/* The options of the verb. */
struct inspect_options {
	bool json, imports;
	enum inspect_type type;            /* INSPECT_TYPE_MAX: told from the file */
	enum inspect_level least, fail_on; /* fail_on: INSPECT_LEVEL_MAX for "none" */
	struct cli_list modules;
};

/* The files that are looked at. */
struct inspect_verb {
	const struct inspect_options *options;
	json_t *files; /* with --json */
	struct inspect_imports imports;
	unsigned imported_count;
	uint64_t end_ns; /* of looking at imported files, CLOCK_MONOTONIC; 0: none was looked at */
	int status;      /* the exit status */
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
					  given->setter_param == 1 ? "must be note, warning, alarm or none"
								   : "must be note, warning or alarm");
}

static int inspect_set_type(const struct cli_given_option *given, void *field)
{
	return inspect_type_find(given->value, field)
		       ? 0
		       : cli_refuse_value(given, "%s",
					  "must be elf, python, javascript, shell, notebook, package, text or data");
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
	CLI_FLAG("imports", 0, "look at what Python and JavaScript import from beside the files, too", AT(imports)),
	CLI_FLAG("json", 0, "print one JSON object", AT(json)),
	{0},
};

static const char usage[] =
	"Usage: callgate inspect [OPTION...] FILE...\n\n"
	"Looks at Python, JavaScript and shell programs, notebooks, package.json and ELF files without running them,\n"
	"and names what is of note: imports, network, subprocesses, native code, code that is made at run time,\n"
	"secrets, invisible characters, what a program loads. Their parsers run in a sandbox. This is no boundary: a\n"
	"program can do what inspect does not see. What it may do is for callgate run to enforce.\n\n";

/* ---- one file ---- */

/* Takes what a file imports. root: in which Python looks for modules; NULL: the file's directory. 0 or -ENOMEM. */
static int inspect_take_imports(struct inspect_verb *verb, const char *path, const char *root, enum inspect_type type,
				struct inspect_findings *findings)
{
	_cleanup_free_ char *dir = inspect_imports_get_directory(path, path);
	const bool lacked_some = verb->imports.lacks_some;
	struct stat status;
	int r = !dir ? -ENOMEM : stat(path, &status) < 0 ? -errno : 0;

	if (r == 0)
		r = inspect_imports_note_file(&verb->imports, &status);
	if (r == 0)
		r = inspect_imports_take(&verb->imports, findings, type, dir, root ? root : dir);
	return r == 0 && verb->imports.lacks_some && !lacked_some
		       ? inspect_findings_add(findings, INSPECT_NOT_LOOKED_AT, 0, "further imports")
		       : r;
}

/* Looks at a file, and at code in it. 0 or -errno. */
static int inspect_find(struct inspect_verb *verb, const char *path, const char *root, enum inspect_type *type,
			struct inspect_findings *findings)
{
	const struct cli_list *modules = &verb->options->modules;
	int r = inspect_look_at_file(path, *type, modules->count > 0 ? modules : NULL, findings, type);

	if (r == 0)
		r = inspect_program_look_at_inner_code(path, modules, findings);
	return r == 0 && verb->options->imports ? inspect_take_imports(verb, path, root, *type, findings) : r;
}

/* Prints or adds what was found in a file, and sets the exit status by it. 0 or -errno. */
static int inspect_tell_findings(struct inspect_verb *verb, const char *path, enum inspect_type type,
				 struct inspect_findings *findings)
{
	const struct inspect_options *options = verb->options;
	enum inspect_level worst;

	inspect_findings_sort(findings);
	if (inspect_findings_get_worst(findings, &worst) && worst >= options->fail_on && verb->status == CLI_EXIT_OK)
		verb->status = INSPECT_EXIT_FOUND;
	if (!options->json)
		return inspect_print_text(path, findings, options->least);
	return json_array_append_new(verb->files, inspect_make_json(path, type, findings, options->least)) < 0 ? -ENOMEM
													       : 0;
}

/* Looks at one file, and tells what it found. One that cannot be looked at does not keep it from the others. */
static void inspect_file(struct inspect_verb *verb, const char *path, const char *root, enum inspect_type type)
{
	_cleanup_findings_ struct inspect_findings findings = {0};
	int r = inspect_find(verb, path, root, &type, &findings);

	if (r == 0)
		r = inspect_tell_findings(verb, path, type, &findings);
	if (r < 0)
		verb->status = CLI_EXIT_ERROR;
}

/* ---- what it imports ---- */

static char *inspect_find_name(void *data, const char *name, bool is_program, char **ret_name)
{
	(void)data;
	(void)is_program;
	*ret_name = strdup(name);
	return strdup(name);
}

/* Which limit of imported files is reached. NULL: none. */
static const char *inspect_find_limit(const struct inspect_verb *verb)
{
	if (verb->imported_count >= INSPECT_IMPORTED_FILES_MAX)
		return "not looked at, nor are others: there are too many imported files";
	if (verb->imports.bytes > (uint64_t)INSPECT_IMPORTED_MIB_MAX << 20)
		return "not looked at, nor are others: imported files are too large";
	return io_read_clock_ns() >= verb->end_ns ? "not looked at, nor are others: it takes too long" : NULL;
}

static int inspect_imported_file(void *data, const struct inspect_imported *file)
{
	_cleanup_findings_ struct inspect_findings findings = {0};
	struct inspect_verb *verb = data;
	const char *limit;
	int r;

	if (!verb->end_ns)
		verb->end_ns = io_read_clock_ns() + INSPECT_SECONDS_MAX * NS_PER_S;
	limit = inspect_find_limit(verb);
	if (!limit) {
		verb->imported_count++;
		inspect_file(verb, file->path, file->root, file->type);
		return 0;
	}
	r = inspect_findings_add(&findings, INSPECT_NOT_LOOKED_AT, 0, limit);
	if (r == 0)
		r = inspect_tell_findings(verb, file->name, INSPECT_TYPE_DATA, &findings);
	return r < 0 ? r : -ECANCELED; /* once for all that follow */
}

/* Looks at all files that those looked at import. */
static void inspect_imports(struct inspect_verb *verb)
{
	const struct inspect_import_user user = {inspect_find_name, NULL, inspect_imported_file, verb};
	const int r = inspect_imports_follow(&verb->imports, &user);

	if (r < 0 && r != -ECANCELED) {
		cli_print_error("inspect", "imported files: %s", strerror(-r));
		verb->status = CLI_EXIT_ERROR;
	}
	inspect_imports_release(&verb->imports);
}

/* ---- all files ---- */

/* In ASCII: names and texts of a hostile program do not reach a terminal, on which they could look like others. */
static int inspect_print_json(json_t *files)
{
	json_t *all = json_pack("{s:s, s:O}", "schema", INSPECT_JSON_SCHEMA, "files", files);
	_cleanup_free_ char *text = show_as_json(all, JSON_INDENT(2));
	int printed = cli_print_text("inspect", text);

	json_decref(all);
	return printed == CLI_EXIT_OK ? cli_print_text("inspect", "\n") : printed;
}

/* Looks at all files, and then at what they import. Returns the exit status. */
static int inspect_files(const struct inspect_options *options, char **paths)
{
	struct inspect_verb verb = {.options = options, .files = json_array(), .status = CLI_EXIT_OK};
	int printed;

	for (; *paths; paths++)
		inspect_file(&verb, *paths, NULL, options->type);
	inspect_imports(&verb);
	printed = options->json ? inspect_print_json(verb.files) : cli_print_text("inspect", "");
	json_decref(verb.files);
	return printed == CLI_EXIT_OK ? verb.status : CLI_EXIT_ERROR;
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
