#include "supervisor/process-private.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/ending.h"
#include "confine/descriptors.h"
#include "confine/filter.h"
#include "confine/privs.h"
#include "supervisor/environment.h"

static void process_release_all(struct process *process)
{
	supervise_report_release(&process->report);
	cleanup_close(&process->landlock_fd);
	cleanup_close(&process->audit_dirfd);
	free(process->audit_file_name);
	namespaces_release(process->options->namespaces);
	view_free(process->ask.view);
	view_free(process->view);
	egress_program_sockets_release(&process->program_sockets);
	egress_process_release(process->options->egress);
	free(process->filter.filter);
	environment_free(process->envp);
	free(process->argv);
	json_decref(process->result);
}

/*
 * Terminal signals reach the whole foreground process group, and SIGTERM may be sent to all processes of this name, but
 * only the keeper acts on them: it lets the program end by itself.
 */
static void process_ignore_terminal_signals(void)
{
	static const int ignored[] = {SIGINT, SIGQUIT, SIGHUP, SIGTERM, SIGTSTP, SIGTTOU, SIGPIPE, SIGIO, SIGXFSZ};
	sigset_t none;

	/* In its own session: a terminal that it opens for the program cannot become callgate's controlling one. */
	(void)setsid(); /* cannot fail: a forked child leads no process group */
	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		(void)signal(ignored[i], SIG_IGN);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Drops all rights of the supervisor that the run no longer needs. 0 or -errno. */
static int process_give_up_privileges(struct process *process)
{
	const struct namespaces *namespaces = process->options->namespaces;
	bool own = namespaces->network_is_made_in_thread || namespaces->made_layers & LAYER_BIT(LAYER_NETNS);
	size_t caps = namespaces->network_is_made_in_thread ? NAMESPACES_CAPS_COUNT_BEFORE_NETNS
							    : NAMESPACES_CAPS_COUNT_OF_SUPERVISOR;
	int cap[NAMESPACES_CAPS_COUNT_MAX];
	struct rlimit limit;
	int error;

	process_ignore_terminal_signals();
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return process_fail(process, "setup_failed", "cannot read the open files limit: %s",
				    strerror(errno));
	process->own_open_files_rlimit = limit;
	limit.rlim_cur = limit.rlim_max; /* each blocked open takes a descriptor of the supervisor */
	(void)setrlimit(RLIMIT_NOFILE, &limit);
	descriptors_enlarge_table();
	error = prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0 ? -errno : 0;
	if (own && process->options->egress->has_network)
		caps = NAMESPACES_CAPS_COUNT_TO_SET_ADDRESSES;
	caps = namespaces_get_needed_caps(caps, process->options->overlay != VIEW_OVERLAY_NONE, cap);
	if (error == 0)
		error = privs_keep_capabilities(&process->options->user, cap, caps, true);
	if (error == 0 && !namespaces->made_layers)
		error = privs_drop_all();
	if (error == 0 && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		error = -errno;
	if (error < 0)
		return process_fail(process, "setup_failed",
				    "the supervisor cannot give up its privileges: %s", strerror(-error));
	layers_set_state(process->options->layers, LAYER_NO_NEW_PRIVS, true,
		   "set-user-ID and file capabilities have no effect");
	layers_set_state(process->options->layers, LAYER_CAPABILITIES, true, "none is held, not even by root");
	layers_set_state(process->options->layers, LAYER_SECCOMP, !filter_allows_all_calls(), "%s",
			 filter_allows_all_calls()
				 ? "THE FIRST LOCK IS OFF in this build (--enable-open-filter): nothing is judged"
				 : "calls that name paths, processes or sockets are performed by the supervisor");
	if (!filter_can_wait_killable())
		layers_add_to_reason(process->options->layers, LAYER_SECCOMP,
				     "; signals may interrupt calls without WAIT_KILLABLE_RECV (Linux 5.19)");
	process->envp = environment_build(process->options->policy, process->options->egress);
	if (!process->envp)
		return process_fail(process, "out_of_memory", "no memory for the environment");
	environment_wipe_own();
	return 0;
}

/* Checks that the sandbox layers which the user requires are active, before the program runs. */
static int process_fail_if_layer_missing(struct process *process)
{
	const struct layers *layers = process->options->layers;
	enum layer missing = layers_find_missing_required_layer(layers);

	if (missing == LAYER_MAX)
		return 0;
	if (missing == LAYER_KERNEL_READS)
		return process_fail(process, "layer_missing", "kernel-reads is required and not possible: %s",
				    layers->layer[missing].why);
	return process_fail(process, "layer_missing",
			    "the layer %s is required and not active: %s; callgate doctor tells how to get it",
			    layer_get_name(missing), layers->layer[missing].why);
}

int process_main(const struct process_options *options)
{
	struct process process = {.options = options,
				  .landlock_fd = -1,
				  .audit_dirfd = -1,
				  .program_sockets = EGRESS_PROGRAM_SOCKETS_INIT};
	int status = 1;
	bool ready, retry; /* retry: the keeper forks another supervisor, without the layer that has failed */

	process_prepare_native_reads(options);
	ready = process_give_up_privileges(&process) == 0;
	retry = ready && namespaces_prepare_mounts(options->namespaces) < 0;
	ready = ready && !retry && process_open_program_sockets(&process) == 0 &&
		process_await_scratch_dirs(&process) == 0 && process_build_view(&process) == 0 &&
		process_build_second_view(&process) == 0 && process_open_log_dir(&process) == 0;
	if (ready) /* now no path of this process leads to a file of the host any more */
		retry = namespaces_enter_view(options->namespaces, process.view) < 0;
	ready = ready && !retry && process_open_program_sockets_in_netns(&process) == 0;
	if (ready)
		retry = namespaces_drop_caps(options->namespaces) < 0;
	ready = ready && !retry && process_join_second_view(&process) == 0 &&
		process_build_landlock(&process, &retry) == 0;
	ready = ready && !retry && process_send_program_sockets(&process) == 0;
	if (ready)
		process_decide_kernel_reads(&process);
	ready = ready && process_fail_if_layer_missing(&process) == 0 &&
		process_find_program(&process) == 0 && process_await_policy_digest(&process) == 0 &&
		process_open_log(&process) == 0;
	if (ready)
		(void)process_run_program(&process); /* the error is in the result */
	if (process.audit)
		process_close_log(&process);
	if (!retry)
		status = process_send_result(&process);
	if (retry || exit_runs_handlers) /* otherwise the exit releases everything, which is faster */
		process_release_all(&process);
	return status;
}
