#include "keeper/run.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "confine/cgroup.h"
#include "confine/namespaces.h"
#include "confine/scheduling.h"
#include "confine/selffilter.h"
#include "keeper/anchor.h"
#include "keeper/evidence.h"
#include "keeper/private.h"
#include "policy/network/net.h"
#include "supervisor/cpu/cpu.h"
#include "supervisor/environment.h"
#include "supervisor/limits/killtree.h"

/* Opens a signalfd. Signals that were ignored at the start (nohup, background jobs of a plain shell) stay ignored. */
static int keeper_open_signals(void)
{
	static const int wanted[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP};
	struct sigaction before;
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGCONT);
	(void)sigaddset(&set, SIGWINCH);
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		if (sigaction(wanted[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
			(void)sigaddset(&set, wanted[i]);
	(void)signal(SIGPIPE, SIG_IGN); /* writing to a closed pipe gives EPIPE, which is handled */
	(void)signal(SIGXFSZ, SIG_IGN); /* writing past RLIMIT_FSIZE gives EFBIG */
	(void)signal(SIGCHLD, SIG_DFL); /* if it were ignored, the kernel would reap the children */
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return -errno;
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/*
 * --die-with-parent. Called after the last change of credentials, which clears PDEATHSIG. Fails if the parent is dead.
 */
static int keeper_set_death_signal(const struct keeper *keeper)
{
	if (!keeper->options->parent_pid)
		return 0;
	(void)signal(SIGTERM, SIG_DFL); /* callgate may have been started with SIGTERM ignored */
	if (prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0) < 0)
		return -errno;
	return getppid() == keeper->options->parent_pid ? 0 : -EOWNERDEAD;
}

/* Makes the keeper a subreaper without core dumps, with the capabilities for namespaces. */
static int keeper_prepare_own_process(struct keeper *keeper)
{
	/* the same limits as launch.c sets for the program */
	static const struct rlimit one_byte = {1, 1}, no_core = {0, 0};
	int error;

	/* Keeper and supervisor dump no core. A piped core_pattern ignores the limit 0, but not PR_SET_DUMPABLE. */
	if (setrlimit(RLIMIT_CORE, &one_byte) < 0 && setrlimit(RLIMIT_CORE, &no_core) < 0)
		return -errno;
	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
		return -errno;
	/* privs_drop_all() drops these capabilities after the supervisor was forked into its namespaces. */
	error = privs_keep_capabilities(&keeper->options->user, namespaces_caps, NAMESPACES_CAPS_COUNT, false);
	if (error == 0 && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0) /* after the change of uid, which resets this flag */
		error = -errno;
	if (error == 0)
		error = keeper_set_death_signal(keeper);
	if (error < 0)
		return error;
	keeper->signal_fd = keeper_open_signals();
	return keeper->signal_fd < 0 ? -errno : 0;
}

static struct cgroup *keeper_make_cgroup(const struct keeper_options *options)
{
	const struct cgroup_options wanted = {.run_id = options->scratch->id,
					      .uid = options->user.set ? options->user.uid : geteuid(),
					      .gid = options->user.set ? options->user.gid : getegid(),
					      .limits = &policy_get_settings(options->policy)->limits,
					      .layers = options->layers};

	return cgroup_create(&wanted);
}

/* Lets the custodian remove the control group directories at the end, because the run's user may not. */
static void keeper_let_custodian_remove_cgroup(const struct cgroup *cgroup, const struct custodian *custodian)
{
	int parent_fds[CGROUP_UID_DIRS_MAX];
	const char *name = "";
	size_t count = custodian->pid > 0 ? cgroup_get_uid_dirs(cgroup, parent_fds, &name) : 0;

	for (size_t i = 0; i < count; i++)
		/* A failure leaves an empty control group behind. */
		(void)custodian_remove_dir_at_end(custodian, parent_fds[i], name);
}

/* Reports self_filter as active before it is, because the supervisor reports the layers. If it fails, the run ends. */
static void keeper_plan_self_filter(const struct policy *policy, struct layers *layers)
{
	const char *why;

	if (!layers_wants_layer(layers, LAYER_SELF_FILTER))
		return;
	if (selffilter_works_in_this_build(&why))
		layers_set_state(layers, LAYER_SELF_FILTER, true,
			   "keeper%s supervisor can only make the calls that they need",
			   policy_net_is_enabled(policy) ? ", egress, resolver and" : " and");
	else
		layers_set_state(layers, LAYER_SELF_FILTER, false, "%s", why);
}

/* Starts egress before the change of uid: it gets the secrets, which the run's user may not be able to read. */
static int keeper_start_egress(struct keeper *keeper)
{
	const struct keeper_options *options = keeper->options;
	const struct egress_start_options wanted = {.policy = options->policy,
						    .layers = options->layers,
						    .run_id = options->scratch->id,
						    .host_data = options->egress_data_from_host,
						    .user = options->user};
	struct policy_error problem;
	int error = egress_start(&wanted, &keeper->egress, &problem);

	if (error < 0)
		(void)snprintf(keeper->outcome->error_message, sizeof(keeper->outcome->error_message), "%s",
			       problem.text);
	return error;
}

/* Ends the processes that were started before a later step failed. */
static void keeper_end_failed_start(struct keeper *keeper, const char *step, int error)
{
	if (keeper->supervisor_pid > 0)
		(void)kill(keeper->supervisor_pid, SIGKILL);
	(void)egress_process_end(&keeper->egress, &keeper->egress_wait_status);
	(void)killtree(KEEPER_KILL_TREE_TIMEOUT_MS, 0);
	if (!keeper->outcome->error_message[0])
		keeper_explain_failure(keeper->outcome, step, error);
}

/* Signs the log. If that fails, the result has neither its head nor its key. */
static void keeper_sign_log_and_anchor(struct keeper *keeper)
{
	struct keeper_outcome *outcome = keeper->outcome;
	int error = evidence_sign_log(keeper);

	if (error == 0)
		anchor_write_last_checkpoint(keeper);

	/* EBADMSG: the log has no trailer, which the result reports */
	if (error == 0 || error == -EBADMSG || outcome->error_code || outcome->program_was_not_started)
		return;
	outcome->error_code = "audit_failed";
	(void)snprintf(outcome->error_message, sizeof(outcome->error_message), "cannot sign the log: %s",
		       strerror(-error));
}

static void keeper_release(struct keeper *keeper)
{
	keeper->outcome->key = steal_pointer(&keeper->key);
	stdin_relay_release(&keeper->stdin_relay);
	terminal_release(&keeper->terminal);
	cleanup_close(&keeper->supervisor_pidfd);
	cleanup_close(&keeper->acls_pidfd);
	cleanup_close(&keeper->control_fd);
	cleanup_close(&keeper->report_fd);
	cgroup_destroy(keeper->cgroup);
	if (keeper->shared_page)
		(void)munmap(keeper->shared_page, sizeof(*keeper->shared_page));
	egress_process_release(&keeper->egress);
	cleanup_close(&keeper->signal_fd);
}

int keeper_run_program(const struct keeper_options *options, struct keeper_outcome *ret_outcome)
{
	struct keeper keeper = {.options = options,
				.outcome = ret_outcome,
				.stdin_relay = {.source_fd = -1, .pipe_fd = -1},
				.terminal = TERMINAL_NONE,
				.egress = EGRESS_PROCESS_NONE,
				.supervisor_pid = -1,
				.supervisor_pidfd = -1,
				.acls_pidfd = -1,
				.control_fd = -1,
				.report_fd = -1,
				.signal_fd = -1};
	const char *step = "give up privileges";
	int error;

	*ret_outcome =
		(struct keeper_outcome){.out = {.pipe_fd = -1, .spill_fd = -1}, .err = {.pipe_fd = -1, .spill_fd = -1}};
	/* Control groups are created before privileges are dropped, because creating them may need privileges. */
	keeper.cgroup = keeper_make_cgroup(options);
	keeper_let_custodian_remove_cgroup(keeper.cgroup, options->custodian);
	keeper_plan_self_filter(options->policy, options->layers);
	privs_drop_bounding_set(); /* once, and not in each process that is forked */
	error = keeper_start_egress(&keeper);
	if (error == 0)
		error = keeper_prepare_own_process(&keeper);
	keeper.start_ns = io_read_clock_ns();
	if (options->time_limit_ns && options->time_limit_ns < UINT64_MAX - keeper.start_ns)
		keeper.time_limit_end_ns = keeper.start_ns + options->time_limit_ns;
	if (error == 0)
		error = evidence_allocate_signing_key(&keeper);
	if (error == 0)
		error = keeper_prepare_and_fork(&keeper, &step);
	egress_process_close_fds_of_supervisor(&keeper.egress);
	if (error == 0)
		error = privs_drop_all();
	environment_wipe_own(); /* the supervisor wipes its own copy */
	if (keeper.has_sched_batch_policy)
		scheduling_set_sched_other();
	cpu_request_short_time_slice();
	if (error == 0 && options->layers->layer[LAYER_SELF_FILTER].active)
		error = selffilter_install(SELF_KEEPER);
	if (error == 0) {
		terminal_set_raw_mode(&keeper.terminal);
		anchor_request_first_progress(&keeper);
		keeper_run_loop(&keeper);
		keeper_determine_outcome(&keeper);
		keeper_sign_log_and_anchor(&keeper);
	} else {
		keeper_end_failed_start(&keeper, step, error);
	}
	keeper_release(&keeper);
	return error;
}
