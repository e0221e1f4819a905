#include "cli/inspect/program.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "cli/inspect/command.h"
#include "cli/inspect/inspect.h"

#define PROGRAM_PRINTED_FINDINGS_MAX 20 /* findings that are printed of a file */

/* "FILE:LINE: KIND: WHAT". Owned; NULL: no memory. */
static char *program_describe_finding(const char *name, const struct inspect_finding *finding)
{
	const char *kind = inspect_kind_get_name(finding->kind);

	return finding->line > 0 ? cli_format("%s:%u: %s: %s", name, finding->line, kind, finding->what)
				 : cli_format("%s: %s: %s", name, kind, finding->what);
}

static bool program_has_file(const struct inspect_program *inspection, const char *name)
{
	_cleanup_free_ char *path = name ? inspection->find_file(inspection->data, name, false, NULL) : NULL;

	return path && access(path, F_OK) == 0;
}

/* Whether a module of Python is a file of the program: beside the script, as Python looks for it first. */
static bool program_has_module(const struct inspect_program *inspection, const char *module, const char *dir)
{
	const int len = (int)strcspn(module, "./");
	_cleanup_free_ char *file = cli_format("%s/%.*s.py", dir, len, module),
			    *package = cli_format("%s/%.*s/__init__.py", dir, len, module);

	return program_has_file(inspection, file) || program_has_file(inspection, package);
}

/* Prints what is to be warned of, and keeps the first finding that refuses the program. 0 or -ENOMEM. */
static int program_judge_findings(struct inspect_program *inspection, const char *name, const char *dir,
				  const struct inspect_findings *findings)
{
	unsigned printed = 0;

	for (size_t i = 0; i < findings->count; i++) {
		const uint32_t bit = INSPECT_BIT(findings->item[i].kind);
		_cleanup_free_ char *text = program_describe_finding(name, &findings->item[i]);

		if (!text)
			return -ENOMEM;
		if (findings->item[i].kind == INSPECT_MODULE &&
		    program_has_module(inspection, findings->item[i].what, dir))
			continue;
		if (!inspection->is_quiet && (bit & (inspection->refused | inspection->warned)) &&
		    printed++ < PROGRAM_PRINTED_FINDINGS_MAX)
			cli_print_error(inspection->verb, "inspect: %s", text);
		if ((bit & inspection->refused) && !inspection->why)
			inspection->why = steal_pointer(&text);
	}
	return 0;
}

/*
 * Looks at a file. What is no regular file is left to the start, which tells what is wrong with it. name: in messages;
 * dir: where its own modules are. 0 or -errno; a message was printed, unless it is -ENOMEM.
 */
static int program_look_at_file(struct inspect_program *inspection, const char *name, const char *path, const char *dir,
				enum inspect_type type)
{
	_cleanup_findings_ struct inspect_findings findings = {0};
	struct stat status;
	int r;

	if (!path || stat(path, &status) < 0 || !S_ISREG(status.st_mode))
		return 0;
	r = inspect_look_at_file(path, type, inspection->modules.count > 0 ? &inspection->modules : NULL, &findings,
				 &type);
	return r == 0 ? program_judge_findings(inspection, name, dir, &findings) : r;
}

/* Looks at what Python runs when the script is a directory. 0 or -errno. */
static int program_look_at_directory(struct inspect_program *inspection, const char *name, const char *path)
{
	_cleanup_free_ char *file = cli_format("%s/__main__.py", path), *shown = cli_format("%s/__main__.py", name);

	return file && shown ? program_look_at_file(inspection, shown, file, name, INSPECT_TYPE_PYTHON) : -ENOMEM;
}

/* As program_look_at_file(), of the program or a script, beside which its own modules are. */
static int program_look_at_script(struct inspect_program *inspection, const char *name, bool is_program,
				  enum inspect_type type)
{
	_cleanup_free_ char *found = NULL, *path = inspection->find_file(inspection->data, name, is_program, &found);
	const char *slash = found ? strrchr(found, '/') : NULL;
	_cleanup_free_ char *dir = slash ? strndup(found, (size_t)(slash - found)) : strdup(".");
	struct stat status;

	if (!path)
		return 0;
	if (type == INSPECT_TYPE_PYTHON && stat(path, &status) == 0 && S_ISDIR(status.st_mode))
		return program_look_at_directory(inspection, name, path);
	return dir ? program_look_at_file(inspection, name, path, dir, type) : -ENOMEM;
}

/* Looks at code of the command line, which becomes a file in memory. 0 or -errno. */
static int program_look_at_code(struct inspect_program *inspection, const char *code, enum inspect_type type)
{
	_cleanup_close_ int fd = memfd_create("callgate-code", MFD_CLOEXEC);
	struct io_proc_fd_path path = io_proc_fd_path(fd);

	if (fd < 0 || io_write_all(fd, code, strlen(code)) < 0)
		return -ENOMEM;
	return program_look_at_file(inspection, "command line", path.path, ".", type);
}

/* Says what is not looked at. */
static void program_note_not_inspected(const struct inspect_program *inspection, const char *what)
{
	if (!inspection->is_quiet)
		cli_note("callgate: inspect: %s, so it is not looked at", what);
}

/* Looks at a file of Python's in the working directory, if it is there. 0 or -errno. */
static int program_look_at_part(struct inspect_program *inspection, const char *part, const char *end, bool *ret_found)
{
	_cleanup_free_ char *name = cli_format("./%s%s", part, end), *path = NULL;

	*ret_found = program_has_file(inspection, name);
	path = *ret_found ? inspection->find_file(inspection->data, name, false, NULL) : NULL;
	return path ? program_look_at_file(inspection, name + strlen("./"), path, ".", INSPECT_TYPE_PYTHON) : 0;
}

/*
 * Looks at a module of Python (-m), if it is in the working directory, where Python looks first: at all files that
 * Python may run for it, packages before it included. 0 or -errno.
 */
static int program_look_at_module(struct inspect_program *inspection, const char *module)
{
	static const char *const ends[] = {".py", "/__init__.py", "/__main__.py"};
	_cleanup_free_ char *path = strdup(module);
	bool found = false, any = false;
	int r = path ? 0 : -ENOMEM;

	for (char *dot = path; r == 0 && (dot = strchr(dot, '.')); *dot++ = '/') {
		*dot = '\0';
		r = program_look_at_part(inspection, path, "/__init__.py", &found);
	}
	for (size_t i = 0; r == 0 && i < sizeof(ends) / sizeof(ends[0]); i++) {
		r = program_look_at_part(inspection, path, ends[i], &found);
		any = any || found;
	}
	if (r == 0 && !any)
		program_note_not_inspected(inspection, "the module is not in the working directory");
	return r;
}

/* Looks at a program that an interpreter reads from standard input, if that is a file. 0 or -errno. */
static int program_look_at_stdin(struct inspect_program *inspection, enum inspect_type type)
{
	struct stat status;

	if (!inspection->reads_stdin)
		return 0;
	if (fstat(STDIN_FILENO, &status) == 0 && S_ISREG(status.st_mode))
		return program_look_at_file(inspection, "standard input", io_proc_fd_path(STDIN_FILENO).path, ".",
					    type);
	program_note_not_inspected(inspection, "the program is read from standard input, which is no file");
	return 0;
}

int inspect_program_look(struct inspect_program *inspection)
{
	const struct inspect_command command = inspect_read_command(inspection->argv);
	const uint32_t warned = inspection->warned;
	int r;

	if (!inspection->refused && !inspection->warned)
		return 0;
	/* of an interpreter only what refuses it: its own calls are for its scripts */
	if (command.script || command.code || command.module || command.comes_on_stdin)
		inspection->warned = 0;
	r = program_look_at_script(inspection, command.program, true, INSPECT_TYPE_MAX);
	inspection->warned = warned;
	if (r == 0 && command.script)
		r = program_look_at_script(inspection, command.script, false, command.type);
	if (r == 0 && command.code)
		r = program_look_at_code(inspection, command.code, command.type);
	if (r == 0 && command.module)
		r = program_look_at_module(inspection, command.module);
	if (r == 0 && command.comes_on_stdin)
		r = program_look_at_stdin(inspection, command.type);
	return r;
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
