/* Runs the program: decides how its limits are enforced, builds the filter, supervises, makes the report. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "confine/cgroup.h"
#include "confine/filter.h"
#include "supervisor/cpu/cpu.h"
#include "supervisor/limits/rlimits.h"
#include "supervisor/process-private.h"
#include "supervisor/report.h"
#include "supervisor/session/session.h"
#include "syscalls/account/result/denials.h"
#include "syscalls/call/descriptor.h"

/* The denial of the program's first exec, which is the first denial of the run. NULL: the exec was not denied. */
static const struct denial *process_find_exec_denial(const struct supervise_report *report)
{
	uint64_t unlisted;
	size_t count = 0;
	const struct denial *denial = report->denials ? denials_get_list(report->denials, &count, &unlisted) : NULL;

	return count > 0 && strcmp(denial->op, "exec") == 0 ? denial : NULL;
}

static void process_explain_exec_failure(struct process *process, int error)
{
	const struct denial *denial = process_find_exec_denial(&process->report);
	const char *program = process->lookup.found_path,
		   *why = denial && denial->reason ? denial->reason : "not granted";

	if (denial)
		(void)process_set_error(process, RUN_EXIT_REFUSED, "refused",
					"%s: the policy refuses to run it (%s)%s%s", program,
					denial->rule ? denial->rule : why,
					denial->suggested_option ? "; to allow it: " : "",
					denial->suggested_option ? denial->suggested_option : "");
	else if (error == ENOEXEC)
		(void)process_set_error(process, RUN_EXIT_REFUSED, "not_executable",
					"%s: not a program of this machine: neither ELF nor a script with #!", program);
	else
		(void)process_set_error(process, RUN_EXIT_REFUSED, "not_executable", "%s: %s", program,
					error != ENOENT ? strerror(error)
							: "it, or its interpreter (the #! line or the ELF loader), "
							  "does not exist in the view");
}

/* Explains in the result why the program could not be started. The report is kept: it has the denial. */
static void process_explain_start_failure(struct process *process)
{
	const struct supervise_report *report = &process->report;
	int error = report->start_error;

	if (report->start_step == LAUNCH_EXEC)
		process_explain_exec_failure(process, error);
	else if (report->start_step == LAUNCH_FILTER && error == EBUSY)
		(void)process_fail(process, "listener_present",
				   "a seccomp listener watches this process already (callgate inside callgate, or a "
				   "container agent); the kernel allows one: run callgate outside of it, see callgate "
				   "doctor");
	else if (report->start_step == LAUNCH_LANDLOCK)
		(void)process_fail(process, "launch_failed",
				   "the kernel refuses the program's Landlock domain: %s; --without landlock runs "
				   "without it",
				   error == E2BIG ? "too many domains are around it already" : strerror(error));
	else if (report->start_step == LAUNCH_FILTER)
		(void)process_fail(process, "launch_failed",
				   "the kernel or a container's seccomp profile refuses the seccomp filter with a "
				   "listener: %s; callgate doctor tells how to get it",
				   strerror(error));
	else if (report->start_step == LAUNCH_DESCRIPTORS)
		(void)process_fail(process, "launch_failed",
				   "the program cannot get descriptors of its own: close_range(2) "
				   "(CLOSE_RANGE_UNSHARE, Linux 5.9), which "
				   "every run needs, fails: %s; see callgate doctor",
				   strerror(error));
	else if (report->start_step == LAUNCH_ADDFD)
		(void)process_fail(process, "launch_failed",
				   "the program cannot be given files: the listener's ADDFD (Linux 5.9), which "
				   "every run needs, fails: %s; see callgate doctor",
				   strerror(error));
	else
		(void)process_fail(process, "launch_failed", "cannot start %s: %s", process->lookup.found_path,
				   strerror(error));
}

/* Decides how limits are enforced that no control group enforces, and describes that in the cgroups layer. */
static struct rlimits_without_cgroups process_choose_fallback(const struct process_options *options)
{
	const struct policy_limits *limits = &policy_get_settings(options->policy)->limits;
	struct rlimits_without_cgroups fallback = {
		.limits_cpu_by_rlimit = limits->cpu_ns && !cgroup_has_controller(options->cgroup, CGROUP_CPU)};
	struct layers *layers = options->layers;
	bool tasks = limits->pids && !cgroup_has_controller(options->cgroup, CGROUP_PIDS);
	char why[sizeof(layers->layer[0].why)];

	fallback.limits_memory_by_rlimit =
		limits->memory_bytes && !cgroup_has_controller(options->cgroup, CGROUP_MEMORY);
	/* RLIMIT_NPROC counts by user and user namespace (Linux 5.14), and not for the machine's root. */
	fallback.limits_tasks_by_rlimit = tasks && layers->layer[LAYER_USERNS].active && geteuid() != 0;
	fallback.limits_forks_by_judging =
		tasks && !fallback.limits_tasks_by_rlimit && !options->namespaces->task_limit_is_set;
	if (!tasks && !fallback.limits_memory_by_rlimit && !fallback.limits_cpu_by_rlimit)
		return fallback;
	(void)snprintf(why, sizeof(why), "%s", layers->layer[LAYER_CGROUPS].why);
	layers_set_state(layers, LAYER_CGROUPS, layers->layer[LAYER_CGROUPS].active, "%.110s%s%s%s", why,
			 fallback.limits_memory_by_rlimit ? "; memory is sampled every 2 to 100 ms" : "",
			 fallback.limits_cpu_by_rlimit ? "; cpu time is sampled" : "",
			 fallback.limits_forks_by_judging  ? "; forks are judged"
			 : fallback.limits_tasks_by_rlimit ? "; RLIMIT_NPROC"
			 : tasks                    ? "; pid_max of the pid namespace"
						    : "");
	return fallback;
}

/* The path by which the program's working directory can be entered now. */
static const char *process_find_cwd(const struct process *process, char path[PATH_MAX])
{
	const struct process_options *options = process->options;
	struct place place;

	if (!view_is_attached(process->view) && options->overlay != VIEW_OVERLAY_WORKSPACE)
		return options->workdir_host;
	if (view_locate_path(process->view, NULL, "/", policy_get_settings(options->policy)->workdir, 0, &place) == 0 &&
	    view_get_supervisor_path(&place, path, PATH_MAX) > 0)
		return path;
	return policy_get_settings(options->policy)->workdir;
}

static int process_build_filter(struct process *process, const struct rlimits_without_cgroups *fallback,
				unsigned *ret_traits)
{
	const struct process_options *options = process->options;
	const bool inet = options->egress->has_network, alone = process->program_sockets.has_own_netns;
	const struct policy_limits *limits = &policy_get_settings(options->policy)->limits;
	const unsigned bounded = LAYER_BIT(LAYER_NETNS) | LAYER_BIT(LAYER_PIDNS);
	/* No control group counts what netlink sockets hold (0.2 MB each): native only without a limit of memory. */
	const bool routes = (options->namespaces->made_layers & bounded) == bounded && !limits->memory_bytes;
	const bool direct = descriptor_pidfd_getfd_works();
	const bool datagrams = direct && policy_get_settings(options->policy)->allows_unix_datagrams;
	const bool disk = limits->disk_bytes > 0 || fallback->limits_memory_by_rlimit;
	int error;

	/* No process shows the memory of System V IPC, so it would evade the limit where memory is sampled. */
	*ret_traits =
		(options->layers->layer[LAYER_IPCNS].active && !fallback->limits_memory_by_rlimit ? RUN_OWN_IPC : 0u) |
		(view_has_terminals(process->view) ? RUN_OWN_TERMINALS : 0u) |
		(process->fstat_is_native ? RUN_NATIVE_FSTAT : 0u) | (process->kernel_reads ? RUN_KERNEL_READS : 0u) |
		(fallback->limits_forks_by_judging ? RUN_LIMITS_TASKS : 0u) |
		(fallback->limits_memory_by_rlimit ? RUN_SAMPLES_MEMORY : 0u) | (disk ? RUN_LIMITS_DISK : 0u) |
		(cpu_can_pin() ? RUN_SETS_AFFINITY : 0u) | (routes ? RUN_NATIVE_NETLINK : RUN_HAS_STANDIN_SOCKETS) |
		(filter_can_wait_killable() ? RUN_RESTARTS_CALLS : 0u) | (inet ? RUN_HAS_TCP : 0u) |
		(inet && alone ? RUN_HAS_UDP : 0u) | (inet && !alone ? RUN_SHARED_NETNS : 0u) |
		((inet || datagrams) && direct ? RUN_JUDGES_MESSAGES : 0u) | (datagrams ? RUN_HAS_UNIX_DATAGRAMS : 0u);
	error = filter_build_program(*ret_traits, &process->filter);
	if (error < 0)
		return process_fail(process, "filter_failed", "cannot build the seccomp filter: %s", strerror(-error));
	return 0;
}

static int process_supervise_program(struct process *process, const struct rlimits_without_cgroups *fallback,
				     unsigned traits)
{
	const struct process_options *options = process->options;
	const int *stdio_fd = options->stdio_fd;
	char cwd[PATH_MAX];
	const struct session_options session = {
		.listen_fd = options->session ? options->session->listen_fd : -1,
		.holding_client_fd = options->session ? options->session->holding_client_fd : -1,
		.idle_limit_ns = options->session ? options->session->idle_limit_ns : 0,
		.run_id = options->scratch.run_id, .envp = process->envp, .second_view = process->ask.view};
	struct supervise_options supervision = {.launch = {.program = process->lookup.found_path,
							   .argv = process->argv,
							   .envp = process->envp,
							   .cwd_host = process_find_cwd(process, cwd),
							   .filter = &process->filter,
							   .stdio_fd = {stdio_fd[0], stdio_fd[1], stdio_fd[2]},
							   .landlock_fd = process->landlock_fd,
							   .no_huge_pages = fallback->limits_memory_by_rlimit,
							   .stdio_is_terminal = options->stdio_is_terminal},
						.session = options->session ? &session : NULL,
						.process = options,
						.traits = traits,
						.view = process->view,
						.audit = process->audit,
						.ask = process->ask.view ? &process->ask : NULL,
						.program_sockets = &process->program_sockets};

	supervision.launch.rlimit_count =
		rlimits_build(&policy_get_settings(options->policy)->limits, &process->own_open_files_rlimit, fallback,
			      supervision.launch.rlimit);
	supervision.launch.cgroup_procs_fds = cgroup_get_procs_fds(options->cgroup, &supervision.launch.cgroup_count);
	return supervise(&supervision, &process->report);
}

int process_run_program(struct process *process)
{
	const struct rlimits_without_cgroups fallback = process_choose_fallback(process->options);
	unsigned traits;
	int error = process_build_filter(process, &fallback, &traits);

	if (error < 0)
		return error;
	error = process_supervise_program(process, &fallback, traits);
	if (error < 0)
		return process_fail(process, "supervisor_failed", "supervision failed: %s", strerror(-error));
	process->result = report_make_json(&process->report, process->view, process->options->policy);
	if (!process->result)
		return process_fail(process, "out_of_memory", "no memory for the result");
	if (process->report.start_error)
		process_explain_start_failure(process);
	return 0;
}
