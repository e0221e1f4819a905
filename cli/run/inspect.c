/* --inspect, and "inspect" of the policy: looks at the program before it starts. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "cli/host/program.h"
#include "cli/inspect/program.h"
#include "cli/run/private.h"

/* Whether a path leads through /proc/PID/fd or the like: there the program has other files than this process. */
static bool run_is_of_process(const char *path)
{
	const int fd = openat2_retry(AT_FDCWD, path, O_PATH, 0, RESOLVE_NO_MAGICLINKS);

	if (fd >= 0)
		(void)close(fd);
	return fd == -ELOOP;
}

/* The host path of a name in the view that the program is started by. */
static char *run_find_inspected_file(void *data, const char *name, bool is_program, char **ret_name)
{
	const struct run *run = data;
	const char *workdir = policy_get_settings(run->program_phase.policy)->workdir;
	size_t len = strlen(workdir);
	char *path = is_program && !strchr(name, '/') ? program_find_executable(name)
		     : *name != '/'                   ? cli_format("%s/%s", run->workdir, name)
		     : strncmp(name, workdir, len) == 0 && name[len] == '/'
			     ? cli_format("%s%s", run->workdir, name + len)
			     : strdup(name);

	if (path && run_is_of_process(path)) {
		free(path);
		return NULL;
	}
	if (ret_name)
		*ret_name = is_program && path ? strdup(path) : strdup(name);
	return path;
}

int run_inspect_program(struct run *run, struct inspect_program *ret_inspection)
{
	const struct policy_settings *settings = policy_get_settings(run->program_phase.policy);
	struct inspect_program inspection = {.verb = "run",
					     .source = "command line",
					     .argv = run->options.argv,
					     .refused = settings->refused_findings,
					     .warned = settings->warned_findings,
					     .is_quiet = run->options.is_quiet,
					     .reads_stdin = run->options.reads_stdin,
					     .find_file = run_find_inspected_file,
					     .data = run};
	int r = 0, exit_code = 0;

	for (size_t i = 0; r == 0 && i < settings->module_count; i++)
		r = inspect_allow_module(&inspection.modules, settings->modules[i]);
	inspect_set_default(run->options.inspects, &inspection.modules, &inspection.refused, &inspection.warned);
	if (r == 0)
		r = inspect_program_look(&inspection);
	if (r < 0)
		exit_code =
			run_report_refusal(run, "inspect_failed", "the program cannot be looked at: %s", strerror(-r));
	else if (inspection.why)
		exit_code = run_report_inspection(run, inspection.why);
	*ret_inspection = inspection;
	return exit_code;
}
