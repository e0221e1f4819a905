/* --inspect, and "inspect" of the policy: looks at the program before it starts. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "cli/host/program.h"
#include "cli/inspect/command.h"
#include "cli/inspect/inspect.h"
#include "cli/run/private.h"

#define RUN_INSPECT_PRINTED_MAX 20 /* findings that are printed of a file */

/* What a run looks for. */
struct run_inspection {
	struct run *run;
	uint32_t refused, warned; /* INSPECT_BITs */
	char *why;                /* the first finding that refuses the run; owned; NULL: none */
	struct cli_list modules;  /* what may be imported; empty: everything */
};

/* The host path of a name in the view that the program is started by. Owned; NULL: there is none. */
static char *run_find_host_path(const struct run *run, const char *name, bool is_program)
{
	const char *workdir = policy_get_settings(run->program_phase.policy)->workdir;
	size_t len = strlen(workdir);

	if (is_program && !strchr(name, '/'))
		return program_find_executable(name);
	if (*name != '/')
		return cli_format("%s/%s", run->workdir, name);
	return strncmp(name, workdir, len) == 0 && name[len] == '/' ? cli_format("%s%s", run->workdir, name + len)
								    : strdup(name);
}

/* "FILE:LINE: KIND: WHAT". Owned; NULL: no memory. */
static char *run_describe_finding(const char *name, const struct inspect_finding *finding)
{
	const char *kind = inspect_kind_get_name(finding->kind);

	return finding->line > 0 ? cli_format("%s:%u: %s: %s", name, finding->line, kind, finding->what)
				 : cli_format("%s: %s: %s", name, kind, finding->what);
}

/* Whether a module of Python is a file of the program: beside the script, as Python looks for it first. */
static bool run_module_is_own(const char *module, const char *dir)
{
	const int len = (int)strcspn(module, "./");
	_cleanup_free_ char *file = cli_format("%s/%.*s.py", dir, len, module),
			    *package = cli_format("%s/%.*s/__init__.py", dir, len, module);

	return file && package && (access(file, F_OK) == 0 || access(package, F_OK) == 0);
}

/* Prints what is to be warned of, and keeps the first finding that refuses the run. 0 or -ENOMEM. */
static int run_judge_findings(struct run_inspection *inspection, const char *name, const char *dir,
			      const struct inspect_findings *findings)
{
	unsigned printed = 0;

	for (size_t i = 0; i < findings->count; i++) {
		const uint32_t bit = INSPECT_BIT(findings->item[i].kind);
		_cleanup_free_ char *text = run_describe_finding(name, &findings->item[i]);

		if (!text)
			return -ENOMEM;
		if (findings->item[i].kind == INSPECT_MODULE && run_module_is_own(findings->item[i].what, dir))
			continue;
		if (!inspection->run->options.is_quiet && (bit & (inspection->refused | inspection->warned)) &&
		    printed++ < RUN_INSPECT_PRINTED_MAX)
			cli_print_error("run", "inspect: %s", text);
		if ((bit & inspection->refused) && !inspection->why)
			inspection->why = steal_pointer(&text);
	}
	return 0;
}

/*
 * Looks at a file. What is no regular file is left to the run, which tells what is wrong with it. name: in messages;
 * dir: where its own modules are. 0 or -errno; a message was printed, unless it is -ENOMEM.
 */
static int run_inspect_file(struct run_inspection *inspection, const char *name, const char *path, const char *dir,
			    enum inspect_type type)
{
	_cleanup_findings_ struct inspect_findings findings = {0};
	struct stat status;
	int r;

	if (!path || stat(path, &status) < 0 || !S_ISREG(status.st_mode))
		return 0;
	r = inspect_look_at_file(path, type, inspection->modules.count > 0 ? &inspection->modules : NULL, &findings,
				 &type);
	return r == 0 ? run_judge_findings(inspection, name, dir, &findings) : r;
}

/* As run_inspect_file(), of a script, beside which its own modules are. */
static int run_inspect_script(struct run_inspection *inspection, const char *name, const char *path,
			      enum inspect_type type)
{
	const char *slash = strrchr(path, '/');
	_cleanup_free_ char *dir = slash ? strndup(path, (size_t)(slash - path)) : strdup(".");

	return dir ? run_inspect_file(inspection, name, path, dir, type) : -ENOMEM;
}

/* Looks at code of the command line, which becomes a file in memory. 0 or -errno. */
static int run_inspect_code(struct run_inspection *inspection, const char *code, enum inspect_type type)
{
	_cleanup_close_ int fd = memfd_create("callgate-code", MFD_CLOEXEC);
	struct io_proc_fd_path path = io_proc_fd_path(fd);

	if (fd < 0 || io_write_all(fd, code, strlen(code)) < 0)
		return -ENOMEM;
	return run_inspect_file(inspection, "command line", path.path, inspection->run->workdir, type);
}

/* Says what is not looked at. */
static void run_note_not_inspected(const struct run *run, const char *what)
{
	if (!run->options.is_quiet)
		cli_note("callgate: inspect: %s, so it is not looked at", what);
}

/* Looks at a module of Python (-m), if it is in the working directory, where Python looks first. 0 or -errno. */
static int run_inspect_module(struct run_inspection *inspection, const char *module)
{
	const struct run *run = inspection->run;
	_cleanup_free_ char *name = strdup(module), *file = NULL, *package = NULL;

	for (char *dot = name; dot && *dot; dot++)
		if (*dot == '.')
			*dot = '/';
	file = name ? cli_format("%s/%s.py", run->workdir, name) : NULL;
	package = name ? cli_format("%s/%s/__main__.py", run->workdir, name) : NULL;
	if (!file || !package)
		return -ENOMEM;
	if (access(file, F_OK) < 0 && access(package, F_OK) < 0) {
		run_note_not_inspected(run, "the module is not in the working directory");
		return 0;
	}
	return run_inspect_file(inspection, module, access(file, F_OK) == 0 ? file : package, run->workdir,
				INSPECT_TYPE_PYTHON);
}

/* Looks at a program that an interpreter reads from standard input, if that is a file. 0 or -errno. */
static int run_inspect_stdin(struct run_inspection *inspection, enum inspect_type type)
{
	const struct run *run = inspection->run;
	struct stat status;

	if (!run->options.reads_stdin)
		return 0; /* its input is empty */
	if (fstat(STDIN_FILENO, &status) == 0 && S_ISREG(status.st_mode))
		return run_inspect_file(inspection, "standard input", io_proc_fd_path(STDIN_FILENO).path, run->workdir,
					type);
	run_note_not_inspected(run, "the program is read from standard input, which is no file");
	return 0;
}

/* Looks at all that the command line runs. 0 or -errno. */
static int run_inspect_command(struct run_inspection *inspection)
{
	const struct run *run = inspection->run;
	const struct inspect_command command = inspect_read_command(run->options.argv);
	_cleanup_free_ char *program = run_find_host_path(run, command.program, true),
			    *script = command.script ? run_find_host_path(run, command.script, false) : NULL;
	const uint32_t warned = inspection->warned;
	int r;

	/* of an interpreter only what refuses the run: its own calls are for its scripts */
	if (command.script || command.code || command.module || command.comes_on_stdin)
		inspection->warned = 0;
	r = program ? run_inspect_script(inspection, command.program, program, INSPECT_TYPE_MAX) : 0;
	inspection->warned = warned;
	if (r == 0 && script)
		r = run_inspect_script(inspection, command.script, script, command.type);
	if (r == 0 && command.code)
		r = run_inspect_code(inspection, command.code, command.type);
	if (r == 0 && command.module)
		r = run_inspect_module(inspection, command.module);
	if (r == 0 && command.comes_on_stdin)
		r = run_inspect_stdin(inspection, command.type);
	return r;
}

/* The list of what may be imported, with the language's own library. 0 or -ENOMEM. */
static int run_list_modules(const struct policy_settings *settings, struct cli_list *list)
{
	int r = settings->module_count > 0 ? cli_list_add_owned(list, strdup("@standard")) : 0;

	for (size_t i = 0; r == 0 && i < settings->module_count; i++)
		r = cli_list_add_owned(list, strdup(settings->modules[i]));
	return r;
}

int run_inspect_program(struct run *run)
{
	const struct policy_settings *settings = policy_get_settings(run->program_phase.policy);
	struct run_inspection inspection = {run, settings->refused_findings, settings->warned_findings, NULL, {0}};
	int r, exit_code = 0;

	if ((run->options.inspects || settings->module_count > 0) && !inspection.refused && !inspection.warned) {
		inspection.refused = inspect_level_get_bits(INSPECT_ALARM);
		inspection.warned = inspect_level_get_bits(INSPECT_WARNING);
	}
	if (!inspection.refused && !inspection.warned)
		return 0;
	r = run_list_modules(settings, &inspection.modules);
	if (r == 0)
		r = run_inspect_command(&inspection);
	if (r < 0)
		exit_code =
			run_report_refusal(run, "inspect_failed", "the program cannot be looked at: %s", strerror(-r));
	else if (inspection.why)
		exit_code = run_report_inspection(run, inspection.why);
	free(inspection.why);
	cli_list_release(&inspection.modules);
	return exit_code;
}
