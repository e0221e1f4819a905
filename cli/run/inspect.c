/* --inspect, and "inspect" of the policy: looks at the program before it starts. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/text.h"
#include "cli/host/program.h"
#include "cli/inspect/program.h"
#include "cli/run/private.h"
#include "supervisor/environment.h"

/* Whether a path leads through /proc/PID/fd or the like: there the program has other files than this process. */
static bool run_is_of_process(struct run *run, const char *path)
{
	const int fd = openat2_retry(AT_FDCWD, path, O_PATH, 0, RESOLVE_NO_MAGICLINKS);

	if (fd >= 0)
		(void)close(fd);
	else if (!io_error_means_absent(fd))
		run->inspect_error = fd;
	return fd == -ELOOP;
}

/* The host path of a name. Owned; NULL: no memory. */
static char *run_get_host_path(const struct run *run, const char *name)
{
	const char *workdir = policy_get_settings(run->program_phase.policy)->workdir;
	const size_t len = strlen(workdir);

	if (*name != '/')
		return text_format("%s/%s", run->workdir, name);
	return strncmp(name, workdir, len) == 0 && (name[len] == '/' || name[len] == '\0')
		       ? text_format("%s%s", run->workdir, name + len)
		       : strdup(name);
}

/* PATH of the program. NULL: it has none. */
static const char *run_get_path_variable(const struct run *run)
{
	const struct policy *policy = run->program_phase.policy;
	const struct policy_env *env;
	size_t count;

	env = policy_get_env(policy, &count);
	for (size_t i = 0; i < count; i++)
		if (env[i].value && strcmp(env[i].name, "PATH") == 0)
			return env[i].value;
	return policy_env_passes_variable(policy, "PATH") ? getenv("PATH") : NULL;
}

/*
 * Looks for a program along the PATH that it will have, and then along that of callgate, where a version manager's shim
 * is followed. Owned; NULL: it is not found.
 */
static char *run_find_inspected_program(const struct run *run, const char *name)
{
	const char *end;

	for (const char *at = run_get_path_variable(run); at; at = *end ? end + 1 : NULL) {
		_cleanup_free_ char *file = NULL, *path = NULL;

		end = strchrnul(at, ':');
		file = end > at ? text_format("%.*s/%s", (int)(end - at), at, name) : strdup(name);
		path = file ? run_get_host_path(run, file) : NULL;
		if (path && program_is_executable(path))
			return steal_pointer(&path);
	}
	return program_find_executable(name);
}

/* The host path of a name in the view that the program is started by. */
static char *run_find_inspected_file(void *data, const char *name, bool is_program, char **ret_name)
{
	struct run *run = data;
	char *path = is_program && *name && !strchr(name, '/') ? run_find_inspected_program(run, name)
							       : run_get_host_path(run, name);

	if (path && run_is_of_process(run, path)) {
		free(path);
		return NULL;
	}
	if (ret_name)
		*ret_name = is_program && path ? strdup(path) : strdup(name);
	if ((ret_name && !*ret_name) || (!path && !is_program))
		run->inspect_error = -ENOMEM;
	return path;
}

/* Takes the variables that the program will have. 0 or -ENOMEM. */
static int run_take_environment(const struct run *run, struct cli_list *environment)
{
	const struct egress_process no_egress = EGRESS_PROCESS_NONE;
	char **envp = environment_build(run->program_phase.policy, &no_egress);
	int r = envp ? 0 : -ENOMEM;

	for (char **variable = envp; r == 0 && *variable; variable++)
		r = cli_list_add_owned(environment, strdup(*variable));
	environment_free(envp);
	return r;
}

/* Takes what is to be looked at, and for what. 0 or -ENOMEM. */
static int run_set_up_inspection(struct run *run, struct inspect_program *inspection)
{
	const struct policy_settings *settings = policy_get_settings(run->program_phase.policy);
	int r = 0;

	*inspection = (struct inspect_program){.verb = "run",
					       .source = "command line",
					       .argv = run->options.argv,
					       .refused = settings->refused_findings,
					       .warned = settings->warned_findings,
					       .is_quiet = run->options.is_quiet,
					       .reads_stdin = run->options.reads_stdin,
					       .find_file = run_find_inspected_file,
					       .data = run};
	for (size_t i = 0; r == 0 && i < settings->module_count; i++)
		r = inspect_allow_module(&inspection->modules, settings->modules[i]);
	inspect_set_default(run->options.inspects, &inspection->modules, &inspection->refused, &inspection->warned);
	if (r < 0 || (!inspection->refused && !inspection->warned))
		return r;
	inspection->findings = run->options.json ? json_array() : NULL;
	return run_take_environment(run, &inspection->environment);
}

int run_inspect_program(struct run *run, struct inspect_program *ret_inspection)
{
	int r = run_set_up_inspection(run, ret_inspection);

	run->inspection = ret_inspection;
	if (r == 0)
		r = inspect_program_look(ret_inspection);
	if (r == 0)
		r = run->inspect_error;
	if (r < 0)
		return run_report_refusal(run, "inspect_failed", "the program cannot be looked at: %s", strerror(-r));
	return ret_inspection->why ? run_report_inspection(run, ret_inspection->why) : 0;
}
