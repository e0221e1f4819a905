#include "cli/inspect/program.h"

#include "base/io.h"
#include "base/times.h"
#include "cli/inspect/judge.h"
#include "cli/inspect/line.h"
#include "cli/inspect/parts.h"
#include "cli/inspect/wrappers.h"

/* Looks at what the environment makes each program load, and takes HOME. 0 or -errno. */
static int program_look_at_variables(struct inspect_program *inspection, const struct inspect_line *line)
{
	struct inspect_command command = {.program = "", .type = INSPECT_TYPE_MAX};
	const int r = inspect_line_look_at_assignments(inspection, line, inspection->variables.item,
						       inspection->variables.count);

	for (size_t i = 0; i < inspection->environment.count; i++)
		inspect_read_own_variable(&command, inspection->environment.item[i]);
	for (size_t i = 0; i < inspection->variables.count; i++)
		inspect_read_variable(&command, inspection->variables.item[i]);
	inspection->home = command.home;
	return r == 0 ? inspect_line_look_at_loaded(inspection, line, &command) : r;
}

/* Looks at the command line or, if there is some, at code, unless nothing is looked for. 0 or -errno. */
static int program_look(struct inspect_program *inspection, const char *code, enum inspect_type type)
{
	struct inspect_line line = {.argv = inspection->argv};
	int r = 0;

	if (!inspection->end_ns)
		inspection->end_ns = io_read_clock_ns() + INSPECT_SECONDS_MAX * NS_PER_S;
	if (!inspection->refused && !inspection->warned)
		return 0;
	r = program_look_at_variables(inspection, &line);
	if (r == 0)
		r = code ? inspect_line_look_at_code(inspection, &line, code, type)
			 : inspect_line_look(inspection, &line);
	if (r == 0)
		r = inspect_parts_look_at_imports(inspection);
	if (r == 0 && inspection->lacks_seen)
		r = inspect_tell(inspection, "whether files are changed, of more than %u names", INSPECT_SEEN_MAX);
	return r == 0 && inspection->lacks_files ? inspect_tell(inspection, "further files") : r;
}

int inspect_program_look(struct inspect_program *inspection)
{
	return program_look(inspection, NULL, INSPECT_TYPE_MAX);
}

int inspect_program_look_at_code(struct inspect_program *inspection, const char *code, enum inspect_type type)
{
	return program_look(inspection, code, type);
}

int inspect_program_look_at_inner_code(const char *path, const struct cli_list *modules,
				       struct inspect_findings *findings)
{
	const struct inspect_line line = {0};
	struct inspect_program inspection = {.verb = "inspect",
					     .source = path,
					     .modules = *modules,
					     .code_findings = findings,
					     .end_ns = io_read_clock_ns() + INSPECT_SECONDS_MAX * NS_PER_S};
	int r = inspect_parts_take_commands(&inspection, &findings->commands);

	if (r == 0)
		r = inspect_line_follow_commands(&inspection, &line, path);
	inspection.modules = (struct cli_list){0}; /* the caller's */
	inspect_program_release(&inspection);
	return r;
}
