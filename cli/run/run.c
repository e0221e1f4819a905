/* callgate run: from the command line to the exit status. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/ending.h"
#include "base/io.h"
#include "cli/inspect/program.h"
#include "cli/run/private.h"
#include "confine/filter.h"
#include "keeper/result.h"
#include "policy/network/net.h"
#include "workspace/store.h"

/* Removes the run's scratch directory, and a workspace in which nothing has changed. */
static void run_remove_scratch(struct run *run)
{
	_cleanup_free_ char *path = strdup(run->scratch.path); /* scratch_remove_run() frees the original */
	int error;

	/* Removed as the run's user even if the run never began: that user may still change the directory. */
	if (geteuid() != run->user.uid)
		(void)privs_become_user(&run->user); /* on failure the directory is removed as root */
	/* An empty workspace is kept only for a run that went well: watch.c has closed the descriptor then. */
	if (run->workspace_fd >= 0 && workspace_is_empty(run->workspace_fd))
		(void)workspace_remove(run->scratch.base_fd, run->scratch.id); /* on failure it stays in the list */
	close_fd(&run->workspace_fd);
	error = scratch_remove_run(&run->scratch);
	if (error < 0)
		cli_print_error("run", "could not remove the run's scratch directory %s: %s; the next run tries again",
			  path ? path : "", strerror(-error));
}

void run_release(struct run *run)
{
	if (run->scratch.path)
		run_remove_scratch(run);
	custodian_stop(&run->custodian);
	if (!exit_runs_handlers)
		return;
	policy_draft_free(run->policy_draft);
	run_release_ask(run);
	run_phase_release(&run->program_phase);
	run_phase_release(&run->setup_phase);
	json_decref(run->setup_result);
	json_decref(run->mistakes);
	cli_host_release(&run->host);
	cleanup_close(&run->output_fd);
	cleanup_close(&run->system_log_fd);
	cleanup_close(&run->sign_key_fd);
	free(run->sign_key_path);
	cleanup_close(&run->anchor_fd);
	free(run->anchor_path);
	run_end_file_release(&run->metrics_file);
	run_end_file_release(&run->attestation_file);
	json_decref(run->inputs);
	free(run->workdir);
	run_release_inputs(run);
	cli_list_release(&run->workspace_dirs);
	free(run->workspace_path);
	free(run->path_variable_at_start);
	cleanup_close(&run->workdir_fd);
	layers_free(run->layers);
	run_options_release(&run->options);
}

/*
 * Refuses a closed stdout. Opens /dev/null for a closed stdin or stderr, because the next file that callgate opens
 * would get number 0 or 2.
 */
static int run_check_stdio(struct run *run)
{
	int fd;

	if (fcntl(STDOUT_FILENO, F_GETFD) < 0) {
		run->options.json = false; /* there is nowhere to print a result */
		return run_report_refusal(run, "output_closed",
					  "standard output is closed; redirect it to a file or to /dev/null");
	}
	for (fd = 0; fd <= 2; fd += 2)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) != fd)
			return run_report_refusal(run, "setup_failed",
						  "descriptor %d is closed and /dev/null cannot be opened",
				      fd);
	return 0;
}

/* Refuses where no run can work, because a later step would fail, or be killed, without telling the cause. */
static int run_check_kernel(struct run *run)
{
	int error;

	if (filter_outer_kills_unlisted_calls())
		return run_report_refusal(run, "outer_filter_kills",
					  "the seccomp filter on this process kills for calls that it does not list; a "
					  "run needs one that answers with an errno (in a systemd service: "
					  "SystemCallErrorNumber=EPERM): see callgate doctor");
	error = filter_find_listener_errno();
	if (error != 0)
		return run_report_refusal(
			run, "listener_missing",
			"every run needs a seccomp listener, which this kernel (gVisor's, or an old one) "
			"lacks, or a filter on this process refuses: %s: see callgate doctor",
			strerror(error));
	error = io_find_openat2_errno();
	if (error != 0)
		return run_report_refusal(
			run, "openat2_missing",
			"every run needs openat2(2) (Linux 5.6), which this kernel lacks, or a filter "
			"on this process refuses: %s: see callgate doctor",
			strerror(error));
	/* of no process: the kernel says so, a filter something else */
	if (ptrace(PTRACE_SEIZE, 0, 0, 0) < 0 && errno != ESRCH)
		return run_report_refusal(run, "tracing_missing",
					  "every run needs ptrace(2), which a filter on this process refuses: %s: see "
					  "callgate doctor",
					  strerror(errno));
	return 0;
}

/* Whether the policy has a secret that is still to be read from this descriptor. secrets_load then closes it. */
static bool run_fd_has_secret(const struct policy *policy, int fd)
{
	size_t count = 0;
	const struct net_secret *secret = policy ? policy_net_get_secrets(policy, &count) : NULL;

	for (size_t i = 0; i < count; i++)
		if (strncmp(secret[i].value_source, "fd:", 3) == 0 &&
		    strtol(secret[i].value_source + 3, NULL, 10) == fd)
			return true;
	return false;
}

/*
 * Closes the descriptors above 2 that callgate inherited, except for those that the run still needs. Inherited
 * descriptors have no FD_CLOEXEC; those that callgate opens have it. Without /proc none is closed.
 */
static void run_close_inherited_fds(const struct run *run)
{
	_cleanup_closedir_ DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		int fd = (int)strtol(entry->d_name, NULL, 10); /* "." and ".." give 0 */

		if (fd > 2 && fcntl(fd, F_GETFD) == 0 && fd != run->options.status_fd && fd != run->ask.dir_fd &&
		    fd != run->ask.approver_fd && !run_fd_has_secret(run->program_phase.policy, fd) &&
		    !run_fd_has_secret(run->setup_phase.policy, fd))
			(void)close(fd);
	}
}

int run_prepare_process(struct run *run)
{
	int exit_code = run_check_stdio(run);

	(void)signal(SIGCHLD, SIG_DFL); /* if it were ignored, the kernel would reap the children */
	/*
	 * Without this, SIGPIPE would kill callgate when it writes a message to a pipe whose reader has ended, such as
	 * a server that had started callgate. The run's directory would stay. The program gets the default action back.
	 */
	(void)signal(SIGPIPE, SIG_IGN);
	if (exit_code == 0)
		exit_code = run_check_kernel(run);
	if (exit_code == 0)
		exit_code = run_prepare(run);
	if (run->scratch.base_name_notice && !run->options.is_quiet)
		cli_note("callgate: %s", run->scratch.base_name_notice);
	/*
	 * Not closed earlier, because a policy or an input may be read from an inherited descriptor: "-p <(...)" is "-p
	 * /dev/fd/63".
	 */
	run_close_inherited_fds(run);
	return exit_code;
}

/* Prepares the run, performs the setup, and runs the program. Returns the exit status. */
static int run_prepare_and_watch(struct run *run)
{
	struct run_options *options = &run->options;
	struct inspect_program inspection = {.verb = "run"};
	int exit_code;

	if (!options->events_were_given && !options->is_quiet)
		options->events = options->is_verbose     ? SUMMARY_ALL_DENIALS
				  : isatty(STDERR_FILENO) ? SUMMARY_FIRST_DENIALS
							  : SUMMARY_NO_EVENTS;
	exit_code = run_prepare_process(run);
	if (exit_code == 0 && (!options->setup_command || run_perform_setup(run, &exit_code)))
		exit_code = run_inspect_program(run, &inspection);
	else
		return exit_code;
	if (exit_code == 0) {
		exit_code = run_program_to_end(run);
		inspect_program_tell_changes(&inspection);
	}
	run->inspection = NULL;
	inspect_program_release(&inspection);
	return exit_code;
}

int cli_main_run(int argc, char **argv)
{
	struct run run = RUN_INIT;
	int exit_code = run_parse_options(argc, argv, &run.options);
	const char *path = getenv("PATH");

	run.path_variable_at_start = path ? strdup(path) : NULL;
	if (exit_code == CLI_EXIT_ERROR && run.options.json) {
		_cleanup_json_ json_t *result = result_make_error(NULL, CLI_EXIT_ERROR, "usage",
								  "bad usage: see the message on standard error");

		(void)run_print_result(&run, result); /* a failure adds nothing: the exit status is an error already */
	}
	if (exit_code == CLI_OPTIONS_PARSED)
		exit_code = run_prepare_and_watch(&run);
	run_release(&run);
	(void)fflush(NULL); /* errors were reported where the text was written */
	exit_quickly(exit_code);
}
