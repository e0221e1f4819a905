#include "supervisor/process-private.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "audit/audit.h"
#include "base/cleanup.h"
#include "base/ending.h"
#include "base/io.h"
#include "supervisor/cgroup.h"
#include "supervisor/descriptors.h"
#include "supervisor/environment.h"
#include "supervisor/filter.h"
#include "supervisor/handoff.h"
#include "supervisor/landlock.h"
#include "supervisor/lookup.h"
#include "supervisor/privs.h"
#include "supervisor/report.h"
#include "supervisor/rlimits.h"
#include "supervisor/status.h"
#include "supervisor/supervise.h"
#include "syscalls/descriptor.h"

#include "base/banned.h"

static void process_done(struct process *process)
{
	supervise_report_done(&process->report);
	cleanup_close(&process->landlock_fd);
	cleanup_close(&process->audit_dirfd);
	free(process->audit_name);
	namespaces_done(process->options->namespaces);
	view_free(process->view);
	egress_guest_done(&process->guest);
	egress_side_done(process->options->egress);
	free(process->filter.filter);
	environment_free(process->envp);
	free(process->argv);
	json_decref(process->result);
}

/* What is in the report already stays. */
static void set_error(struct process *process, int exit_code, const char *code, const char *message)
{
	if (!process->result)
		process->result = json_object();
	(void)json_object_set_new(process->result, "exit_code", json_integer(exit_code));
	(void)json_object_set_new(process->result, "error",
				  json_pack("{s:s, s:o}", "code", code, "message", report_text(message)));
}

int process_fail(struct process *process, int exit_code, const char *code, const char *format, ...)
{
	char message[1200];
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(message, sizeof(message), format, arguments); /* a longer one is cut */
	va_end(arguments);
	set_error(process, exit_code, code, message);
	return -1;
}

/* Terminal signals reach the whole foreground process group: they are the keeper's to act on. */
static void leave_terminal(void)
{
	static const int ignored[] = {SIGINT, SIGQUIT, SIGHUP, SIGTSTP, SIGTTOU, SIGPIPE, SIGIO, SIGXFSZ};
	sigset_t none;

	/* A session of its own, so that a tty device it opens for the program is not the terminal callgate was started on. */
	(void)setsid(); /* fails for a group leader only, which a forked child is not */
	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		(void)signal(ignored[i], SIG_IGN);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

static size_t caps_needed(const struct process_options *options)
{
	if (options->namespaces->net_later)
		return NAMESPACES_LOOPBACK_CAPS;
	return options->egress->active && options->namespaces->made & LAYER_BIT(LAYER_NETNS) ? NAMESPACES_NETWORK_CAPS
											   : NAMESPACES_SUPERVISOR_CAPS;
}

static int give_up(struct process *process)
{
	struct rlimit limit;
	int error;

	leave_terminal();
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return process_fail(process, RUN_EXIT_ERROR, "setup_failed", "cannot read the open files limit: %s",
				    strerror(errno));
	process->open_files = limit;
	limit.rlim_cur = limit.rlim_max; /* a thousand blocked opens are a thousand descriptors of ours */
	(void)setrlimit(RLIMIT_NOFILE, &limit);
	descriptors_make_room();
	error = prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0 ? -errno : 0;
	if (error == 0)
		error = privs_keep(&process->options->user, namespaces_caps, caps_needed(process->options), true);
	if (error == 0 && !process->options->namespaces->made)
		error = privs_drop();
	if (error == 0 && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		error = -errno;
	if (error < 0)
		return process_fail(process, RUN_EXIT_ERROR, "setup_failed",
				    "the supervisor cannot give up its privileges: %s", strerror(-error));
	layers_set(process->options->layers, LAYER_NO_NEW_PRIVS, true,
		   "set-user-ID and file capabilities have no effect");
	layers_set(process->options->layers, LAYER_CAPABILITIES, true, "none is held, by root neither");
	layers_set(process->options->layers, LAYER_SECCOMP, !filter_is_open(), "%s",
		   filter_is_open() ? "THE FIRST LOCK IS OFF in this build (--enable-open-filter): nothing is judged"
				    : "calls that name paths, processes or sockets are performed by the supervisor");
	process->envp = environment_build(process->options->policy, process->options->egress);
	if (!process->envp)
		return process_fail(process, RUN_EXIT_ERROR, "out_of_memory", "no memory for the environment");
	environment_scrub();
	return 0;
}

static int build_view(struct process *process)
{
	const struct process_options *options = process->options;
	const struct view_options view_options = {.scratch_fd = options->scratch->fd,
						  .scratch_host = options->scratch->path,
						  .scratch_base = options->scratch->base,
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

/* A bare name that is nowhere ends here; a refused path is tried, so that the refusal is judged and on record. */
static int find_program(struct process *process)
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

/* From the view as it is now: rules are of inodes, whatever names they get later. */
static int build_landlock(struct process *process)
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

/* While we have what it takes; whether that was for nothing is found out when the mounts are made. */
static int build_guest(struct process *process)
{
	const struct process_options *options = process->options;
	bool own = options->namespaces->made & LAYER_BIT(LAYER_NETNS);
	const char *step = "";
	int error;

	if (!options->egress->active)
		return 0;
	error = egress_guest_create(options->egress, options->policy, own, &process->guest, &step);
	if (error == 0) {
		step = "tell the program where to ask for names";
		error = egress_guest_names(options->egress, &process->guest, own || descriptor_direct());
	}
	if (error < 0)
		return process_fail(process, RUN_EXIT_ERROR, "network_failed", "cannot %s: %s", step, strerror(-error));
	return 0;
}

/* What "enforcement" says of a network that is not the host's, whether it has a namespace or not. */
static void tell_network(const struct process *process)
{
	struct layers *layers = process->options->layers;
	char why[sizeof(layers->layer[0].why)], own[INET_ADDRSTRLEN];

	(void)snprintf(why, sizeof(why), "%s", layers->layer[LAYER_NETNS].why);
	(void)inet_ntop(AF_INET, &process->guest.loopback, own, sizeof(own));
	layers_set(layers, LAYER_NETNS, layers->layer[LAYER_NETNS].active,
		   "%.110s; connections are led to the egress process%s%s", why, process->guest.own_netns ? "" : " at ",
		   process->guest.own_netns ? "" : own);
}

static int hand_guest(struct process *process)
{
	const struct egress_side *egress = process->options->egress;
	int error = egress->active ? egress_guest_hand(egress, &process->guest) : 0;

	if (egress->active)
		tell_network(process);
	if (error < 0)
		return process_fail(process, RUN_EXIT_ERROR, "egress_failed", "the egress process does not run: %s",
				    strerror(-error));
	return 0;
}

/* Nothing of the host has a name here afterwards. Not a matter of the result when it fails: the keeper starts anew. */
static int enter(struct process *process)
{
	return namespaces_enter(process->options->namespaces, process->view);
}

/* What the user insists on must hold before the program runs. */
static int check_layers(struct process *process)
{
	const struct layers *layers = process->options->layers;
	enum layer missing = layers_missing(layers);

	if (missing == LAYER_MAX)
		return 0;
	return process_fail(process, RUN_EXIT_ERROR, "layer_missing",
			    "the layer %s is required and not active: %s; callgate doctor tells how to get it",
			    layer_name(missing), layers->layer[missing].why);
}

/* The report stays: the refusal is among its denials. */
static void explain_start(struct process *process)
{
	struct run_refusal refusal;

	run_refusal(&process->report, process->program, &refusal);
	set_error(process, refusal.exit_code, refusal.code, refusal.message);
}

/* How limits are kept that no control group keeps, said in the layer as well. */
struct fallback {
	struct rlimits_fallback rlimits;
	bool forks, memfds; /* are judged */
};

static struct fallback choose_fallback(const struct process_options *options)
{
	const struct policy_limits *limits = policy_limits(options->policy);
	struct fallback fallback = {.rlimits = {.cpu = limits->cpu_ns && !cgroup_has(options->cgroup, CGROUP_CPU)}};
	struct layers *layers = options->layers;
	bool tasks = limits->pids && !cgroup_has(options->cgroup, CGROUP_PIDS);
	char why[sizeof(layers->layer[0].why)];

	fallback.rlimits.memory = fallback.memfds = limits->memory_bytes && !cgroup_has(options->cgroup, CGROUP_MEMORY);
	/* Counted by user and user namespace (Linux 5.14); the machine's root is never held by it. */
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

/* The program's working directory as it has to be named now. */
static const char *find_cwd(const struct process *process, char path[PATH_MAX])
{
	const struct process_options *options = process->options;
	struct place place;

	if (!view_is_root(process->view))
		return options->workdir_host;
	if (view_locate(process->view, NULL, "/", policy_workdir(options->policy), 0, &place) == 0 &&
	    view_host(&place, path, PATH_MAX) > 0)
		return path;
	return policy_workdir(options->policy);
}

static bool signals_bounded(const struct layers *layers)
{
	return layers->layer[LAYER_PIDNS].active ||
	       (layers->layer[LAYER_LANDLOCK].active && landlock_abi() >= LANDLOCK_ABI_SIGNALS);
}

static int watch(struct process *process)
{
	const struct process_options *options = process->options;
	char cwd_path[PATH_MAX];
	const char *cwd = find_cwd(process, cwd_path);
	const struct fallback fallback = choose_fallback(options);
	struct supervise_options supervision = {
		.launch = {.program = process->program,
			   .argv = process->argv,
			   .envp = process->envp,
			   .cwd_host = cwd,
			   .stdio_fd = {options->stdio_fd[0], options->stdio_fd[1], options->stdio_fd[2]},
			   .filter = &process->filter,
			   .tty = options->tty,
			   .landlock_fd = process->landlock_fd},
		.policy = options->policy,
		.view = process->view,
		.audit = process->audit,
		.scratch_fd = options->scratch->fd,
		.counters = options->counters,
		.cgroup = options->cgroup,
		.namespaces = options->namespaces,
		.judge_forks = fallback.forks,
		.judge_memfds = fallback.memfds,
		.signals_bounded = signals_bounded(options->layers),
		.control_fd = options->control_fd,
		.host_proc_fd = options->namespaces->host_proc_fd,
		.host_pidns_fd = options->namespaces->host_pidns_fd,
		.self_filter = options->layers->layer[LAYER_SELF_FILTER].active,
		.egress = options->egress->active ? options->egress : NULL,
		.guest = &process->guest,
	};
	/* What System V IPC holds shows in no process: where memory is sampled it would be a way round the limit. */
	const struct filter_options filter = {.private_ipc =
						      options->layers->layer[LAYER_IPCNS].active && !fallback.memfds,
					      .own_terminal = options->tty,
					      .fstat = process->fstat_native,
					      .judge_forks = fallback.forks,
					      .judge_memfds = fallback.memfds,
					      .hand_off = handoff_possible(),
					      .inet = options->egress->active,
					      .inet_udp = options->egress->active &&
							  (process->guest.own_netns || descriptor_direct()),
					      .judge_messages = options->egress->active && descriptor_direct(),
					      .judge_listeners = options->egress->active && !process->guest.own_netns,
					      .judge_disk = policy_limits(options->policy)->disk_bytes > 0};
	int error = filter_build(&filter, &process->filter);

	if (error < 0)
		return process_fail(process, RUN_EXIT_ERROR, "filter_failed", "cannot build the seccomp filter: %s",
				    strerror(-error));
	supervision.launch.rlimits = rlimits_build(policy_limits(options->policy), &process->open_files,
						   &fallback.rlimits, supervision.launch.rlimit);
	supervision.launch.cgroup_fd = cgroup_procs(options->cgroup, &supervision.launch.cgroups);
	supervision.private_ipc = filter.private_ipc;
	supervision.hand_off = filter.hand_off;
	error = supervise(&supervision, &process->report);
	if (error < 0)
		return process_fail(process, RUN_EXIT_ERROR, "supervisor_failed", "supervision failed: %s",
				    strerror(-error));
	process->result = report_json(&process->report, process->view);
	if (!process->result)
		return process_fail(process, RUN_EXIT_ERROR, "out_of_memory", "no memory for the result");
	if (process->report.start_error)
		explain_start(process);
	return 0;
}

static int send_report(const struct process *process)
{
	_cleanup_free_ char *text = process->result ? json_dumps(process->result, JSON_COMPACT) : NULL;

	if (!text || io_write_full(process->options->report_fd, text, strlen(text)) < 0)
		return 1;
	(void)!write(process->options->control_fd, "", 1); /* EPIPE: the keeper is dead */
	return 0;
}

int process_main(const struct process_options *options)
{
	struct process process = {
		.options = options, .landlock_fd = -1, .audit_dirfd = -1, .guest = EGRESS_GUEST_NONE};
	int status = 1;
	bool apart = false; /* in the keeper's hands: it forks another one in our place */

	options->namespaces->narrow_proc = process_may_leave_fstat(options);
	if (give_up(&process) == 0 && !(apart = namespaces_prepare(options->namespaces) < 0) &&
	    build_guest(&process) == 0 && process_await_scratch(&process) == 0 && build_view(&process) == 0 &&
	    build_landlock(&process) == 0 && process_find_audit(&process) == 0 && !(apart = enter(&process) < 0) &&
	    hand_guest(&process) == 0 && check_layers(&process) == 0 && find_program(&process) == 0 &&
	    process_await_digest(&process) == 0 && process_open_audit(&process) == 0)
		(void)watch(&process); /* the error is in the result */
	if (process.audit)
		process_close_audit(&process);
	if (!apart)
		status = send_report(&process);
	if (apart || ending_is_tidy) /* else it ends at once, and somebody waits for that */
		process_done(&process);
	return status;
}
