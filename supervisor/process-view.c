/* What the program will see and start: its view, the Landlock domain of it, the program in it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "confine/landlock.h"
#include "supervisor/environment.h"
#include "supervisor/lookup.h"
#include "supervisor/process-private.h"
#include "supervisor/status.h"

#include "base/banned.h"

int process_build_view(struct process *process)
{
	const struct process_options *options = process->options;
	const struct view_options view_options = {.scratch_fd = options->scratch.fd,
						  .scratch_host = options->scratch.path,
						  .scratch_base = options->scratch.base,
						  .workdir_host = options->workdir_host,
						  .provide = options->egress->provide,
						  .provides = options->egress->provides,
						  .tmpfs_fd = options->namespaces->tmpfs_fd};
	struct policy_error error = {""};
	int ret = view_create(options->policy, &view_options, &process->view, &error);

	if (ret < 0)
		return process_fail(process, RUN_EXIT_ERROR, "view_failed", "%s",
				    error.text[0] ? error.text : "cannot build the program's view of the file system");
	ret = options->tty ? view_set_terminal(process->view, options->stdio_fd[0]) : 0;
	if (ret < 0)
		return process_fail(process, RUN_EXIT_ERROR, "view_failed", "cannot show the program its terminal: %s",
				    strerror(-ret));
	return 0;
}

/* What a shim stands for is started under its own path, as the shim would: python finds its prefix by argv[0]. */
static int copy_argv(struct process *process)
{
	const struct process_options *options = process->options;
	size_t count = 0;

	while (options->argv[count])
		count++;
	process->argv = calloc(count + 1, sizeof(*process->argv));
	if (!process->argv)
		return process_fail(process, RUN_EXIT_ERROR, "out_of_memory", "no memory for the arguments");
	memcpy(process->argv, options->argv, count * sizeof(*process->argv));
	if (options->preferred && strcmp(process->program, options->preferred) == 0)
		process->argv[0] = process->program;
	return 0;
}

int process_find_program(struct process *process)
{
	const struct process_options *options = process->options;
	const struct lookup_options lookup = {.policy = options->policy,
					      .view = process->view,
					      .name = options->argv[0],
					      .path_env = environment_get(process->envp, "PATH"),
					      .preferred = options->preferred};

	process->found = lookup_program(&lookup, process->program);
	if (process->found == LOOKUP_MISSING)
		return process_fail(process, RUN_EXIT_NOT_FOUND, "not_found", "%s: not found%s%s", options->argv[0],
				    strchr(options->argv[0], '/') ? "" : " in PATH ",
				    strchr(options->argv[0], '/') ? ""
				    : lookup.path_env             ? lookup.path_env
								  : "(unset)");
	return copy_argv(process);
}

int process_build_landlock(struct process *process)
{
	struct layers *layers = process->options->layers;
	unsigned places = 0;
	int abi;

	if (!layers_wanted(layers, LAYER_LANDLOCK))
		return 0;
	abi = landlock_abi();
	if (abi < 0) {
		layers_set(layers, LAYER_LANDLOCK, false, "%s",
			   abi == -EOPNOTSUPP ? "built into the kernel and not started: boot with landlock in lsm="
			   : abi == -ENOSYS   ? "not in this kernel, or hidden by a container's seccomp profile"
					      : strerror(-abi));
		return 0;
	}
	process->landlock_fd = landlock_build(process->view, abi, &places);
	if (process->landlock_fd < 0)
		return process_fail(process, RUN_EXIT_ERROR, "landlock_failed",
				    "cannot build the program's Landlock domain: %s", strerror(-process->landlock_fd));
	layers_set(layers, LAYER_LANDLOCK, true,
		   "ABI %d: by itself the program can open no file but in %u places to execute%s%s", abi, places,
		   abi >= 4 ? ", no TCP" : "", abi >= 6 ? ", and reach no process or abstract socket outside" : "");
	return 0;
}
