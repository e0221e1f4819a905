/* Runs the program: decides how its limits are enforced, builds the filter, supervises, makes the report. */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "confine/cgroup.h"
#include "confine/filter.h"
#include "confine/landlock.h"
#include "supervisor/cpu/cpu.h"
#include "supervisor/limits/rlimits.h"
#include "supervisor/process-private.h"
#include "supervisor/report.h"
#include "supervisor/status.h"
#include "supervisor/supervise.h"
#include "syscalls/call/descriptor.h"

#include "base/banned.h"

/* The program could not be started. The report is kept, because the refusal is one of its denials. */
static void process_explain_start(struct process *process)
{
	struct run_refusal refusal;

	run_refusal(&process->report, process->program, &refusal);
	process_set_error(process, refusal.exit_code, refusal.code, refusal.message);
}

/* How limits are enforced that no control group enforces. */
struct fallback {
	struct rlimits_fallback rlimits;
	bool forks, memfds; /* calls that make processes, or memory that no process shows, are judged */
};

/* Also describes it in the cgroups layer. */
static struct fallback process_choose_fallback(const struct process_options *options)
{
	const struct policy_limits *limits = policy_limits(options->policy);
	struct fallback fallback = {.rlimits = {.cpu = limits->cpu_ns && !cgroup_has(options->cgroup, CGROUP_CPU)}};
	struct layers *layers = options->layers;
	bool tasks = limits->pids && !cgroup_has(options->cgroup, CGROUP_PIDS);
	char why[sizeof(layers->layer[0].why)];

	fallback.rlimits.memory = fallback.memfds = limits->memory_bytes && !cgroup_has(options->cgroup, CGROUP_MEMORY);
	/* RLIMIT_NPROC counts by user and user namespace (Linux 5.14). The machine's root is exempt. */
	fallback.rlimits.tasks = tasks && layers->layer[LAYER_USERNS].active && geteuid() != 0;
	fallback.forks = tasks && !fallback.rlimits.tasks && !options->namespaces->tasks_bound;
	if (!tasks && !fallback.memfds && !fallback.rlimits.cpu)
		return fallback;
	(void)snprintf(why, sizeof(why), "%s", layers->layer[LAYER_CGROUPS].why);
	layers_set(layers, LAYER_CGROUPS, layers->layer[LAYER_CGROUPS].active, "%.110s%s%s%s", why,
		   fallback.memfds ? "; memory is sampled every 2 to 100 ms" : "",
		   fallback.rlimits.cpu ? "; cpu time is sampled" : "",
		   fallback.forks           ? "; forks are judged"
		   : fallback.rlimits.tasks ? "; RLIMIT_NPROC"
		   : tasks                  ? "; pid_max of the pid namespace"
					    : "");
	return fallback;
}

/* The path by which the program's working directory is reached now. */
static const char *process_find_cwd(const struct process *process, char path[PATH_MAX])
{
	const struct process_options *options = process->options;
	struct place place;

	if (!view_is_root(process->view))
		return options->workdir_host;
	if (view_locate(process->view, NULL, "/", policy_workdir(options->policy), 0, &place) == 0 &&
	    view_kernel_path(&place, path, PATH_MAX) > 0)
		return path;
	return policy_workdir(options->policy);
}

static bool process_signals_bounded(const struct layers *layers)
{
	return layers->layer[LAYER_PIDNS].active ||
	       (layers->layer[LAYER_LANDLOCK].active && landlock_abi() >= LANDLOCK_ABI_SIGNALS);
}

static int process_build_filter(struct process *process, const struct fallback *fallback, unsigned *ret_traits)
{
	const struct process_options *options = process->options;
	const bool inet = options->egress->active, alone = process->guest.own_netns;
	const bool disk = policy_limits(options->policy)->disk_bytes > 0 || fallback->memfds;
	int error;

	/* No process shows the memory of System V IPC, so where memory is sampled it would evade the limit. */
	*ret_traits = (options->layers->layer[LAYER_IPCNS].active && !fallback->memfds ? RUN_OWN_IPC : 0u) |
		      (view_has_terminals(process->view) ? RUN_TERMINAL : 0u) |
		      (process->fstat_native ? RUN_FSTAT : 0u) |
		      (fallback->forks ? RUN_FORKS : 0u) | (fallback->memfds ? RUN_MEMORY : 0u) |
		      (disk ? RUN_DISK : 0u) | (cpu_possible() ? RUN_PINNED : 0u) |
		      (filter_can_wait() ? RUN_RESTART : 0u) | (inet ? RUN_INET : 0u) | (inet && alone ? RUN_UDP : 0u) |
		      (inet && !alone ? RUN_LISTENERS : 0u) | (inet && descriptor_direct() ? RUN_MESSAGES : 0u);
	error = filter_build(*ret_traits, &process->filter);
	if (error < 0)
		return process_fail(process, RUN_EXIT_ERROR, "filter_failed", "cannot build the seccomp filter: %s",
				    strerror(-error));
	return 0;
}

static struct launch_options process_launch_options(struct process *process, const char *cwd)
{
	const struct process_options *options = process->options;

	return (struct launch_options){.program = process->program,
				       .argv = process->argv,
				       .envp = process->envp,
				       .cwd_host = cwd,
				       .stdio_fd = {options->stdio_fd[0], options->stdio_fd[1], options->stdio_fd[2]},
				       .filter = &process->filter,
				       .tty = options->tty,
				       .landlock_fd = process->landlock_fd};
}

static int process_supervise(struct process *process, const struct fallback *fallback, unsigned traits)
{
	const struct process_options *options = process->options;
	char cwd_path[PATH_MAX];
	struct supervise_options supervision = {
		.launch = process_launch_options(process, process_find_cwd(process, cwd_path)),
		.traits = traits,
		.policy = options->policy,
		.view = process->view,
		.audit = process->audit,
		.scratch_fd = options->scratch.fd,
		.counters = options->counters,
		.cgroup = options->cgroup,
		.namespaces = options->namespaces,
		.signals_bounded = process_signals_bounded(options->layers),
		.control_fd = options->control_fd,
		.host_proc_fd = options->namespaces->host_proc_fd,
		.host_pidns_fd = options->namespaces->host_pidns_fd,
		.self_filter = options->layers->layer[LAYER_SELF_FILTER].active,
		.egress = options->egress->active ? options->egress : NULL,
		.guest = &process->guest,
	};

	supervision.launch.no_huge_pages = fallback->memfds;
	supervision.launch.rlimits = rlimits_build(policy_limits(options->policy), &process->open_files,
						   &fallback->rlimits, supervision.launch.rlimit);
	supervision.launch.cgroup_fd = cgroup_procs(options->cgroup, &supervision.launch.cgroups);
	return supervise(&supervision, &process->report);
}

int process_watch(struct process *process)
{
	const struct fallback fallback = process_choose_fallback(process->options);
	unsigned traits;
	int error = process_build_filter(process, &fallback, &traits);

	if (error < 0)
		return error;
	error = process_supervise(process, &fallback, traits);
	if (error < 0)
		return process_fail(process, RUN_EXIT_ERROR, "supervisor_failed", "supervision failed: %s",
				    strerror(-error));
	process->result = report_json(&process->report, process->view);
	if (!process->result)
		return process_fail(process, RUN_EXIT_ERROR, "out_of_memory", "no memory for the result");
	if (process->report.start_error)
		process_explain_start(process);
	return 0;
}
