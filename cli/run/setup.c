/*
 * --setup: the first of a run's two phases. A separate process is the keeper of the setup; this process then becomes
 * the keeper of the program. Only files pass from one phase to the other: namespaces, egress, secrets and all processes
 * of the setup have ended when the program begins, so that nothing which only the setup was allowed can be regained.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/run/private.h"
#include "keeper/result.h"
#include "policy/network/net.h"

/* What the parent knows of the process that runs the setup. */
struct setup_child {
	pid_t pid;
	sigset_t awaited_signals; /* signals blocked during the setup: SIGCHLD, and those that end or stop a run */
	sigset_t mask_before;     /* signal mask before the setup, which is restored after it */
	int last_signal;          /* the last signal that asked for the end of the run; 0: none */
	int wait_status;          /* how the setup's process ended: its status from waitpid(2) */
	bool was_dumpable;        /* value of PR_GET_DUMPABLE before the setup, which is restored after it */
};

/*
 * Makes the secrets in `read` refer to `policy`, so that the policy with which they were read can be freed. If `policy`
 * has no network, the secrets are freed.
 */
static int setup_bind_secrets(struct egress_data_from_host *read, const struct policy *policy)
{
	if (policy_net_is_enabled(policy))
		return secrets_bind_to_policy(read->secrets, policy);
	egress_data_from_host_release(read);
	return 0;
}

/* ---- in the setup's process ---- */

/*
 * Turns `run` into the run of the setup: with the setup's policy and log, without standard input, and with a custodian
 * that ends with the setup. waiting: pid of the parent process, which waits for the setup.
 */
static int setup_turn_run_into_setup(struct run *run, pid_t waiting)
{
	static char shell[] = "/bin/sh", option[] = "-c";
	static char *argv[] = {shell, option, NULL, NULL};
	bool custodian = run->custodian.pid > 0;

	argv[2] = (char *)(uintptr_t)run->options.setup_command; /* a text in main's argv, which is not written to */
	run->setup_phase.egress_data_from_host.secrets =
		steal_pointer(&run->program_phase.egress_data_from_host.secrets);
	if (setup_bind_secrets(&run->setup_phase.egress_data_from_host, run->setup_phase.policy) < 0)
		return run_report_refusal(run, "setup_failed", "the secrets of the setup cannot be handed over");
	run_phase_release(&run->program_phase); /* freed only now, because setup_bind_secrets() has read this policy */
	run->program_phase = run->setup_phase;
	run->setup_phase = RUN_PHASE_INIT;
	run->options.argv = argv;
	run->options.reads_stdin = run->options.tty = false;
	run->options.status_fd = -1;
	run->options.output_dir = NULL;
	close_fd(&run->output_fd);
	run->options.metrics_path = NULL;
	run_end_file_release(&run->metrics_file);
	run->options.dies_with_parent = true;
	run->parent = waiting;
	if (!custodian)
		return 0;
	cleanup_close(&run->custodian.fd);
	run->custodian = (struct custodian){0};
	return run_start_custodian(run);
}

/* Runs the setup in the child process. Its output goes to stderr, because stdout is for the program alone. */
static _Noreturn void setup_run_child(struct run *run, pid_t waiting, const sigset_t *mask)
{
	int exit_code = CLI_EXIT_ERROR, error;

	/*
	 * The setup gets its own process group, and the parent passes the terminal's signals on, so that each signal
	 * arrives once.
	 */
	(void)setpgid(0, 0);            /* cannot fail in a new child */
	(void)signal(SIGTTOU, SIG_IGN); /* lets a background process group write to the terminal */
	(void)sigprocmask(SIG_SETMASK, mask, NULL);
	run->is_setup_process = true;
	if (dup2(STDERR_FILENO, STDOUT_FILENO) >= 0 && setup_turn_run_into_setup(run, waiting) == 0)
		exit_code = run_program_to_end(run);
	error = scratch_remove_view(&run->scratch);
	if (error < 0) {
		cli_print_error("run", "cannot clear the scratch directory for the program: %s", strerror(-error));
		exit_code = CLI_EXIT_ERROR;
	}
	custodian_stop(&run->custodian);
	exit(exit_code);
}

/* ---- in the parent of the setup's process ---- */

/* Blocks SIGCHLD and those signals that end or stop a run, except signals that were ignored when callgate started. */
static void setup_block_signals(struct setup_child *setup)
{
	static const int wanted[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCHLD};
	struct sigaction before;

	(void)sigemptyset(&setup->awaited_signals);
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		if (sigaction(wanted[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
			(void)sigaddset(&setup->awaited_signals, wanted[i]);
	(void)sigprocmask(SIG_BLOCK, &setup->awaited_signals, &setup->mask_before); /* cannot fail */
}

/* Stops the setup and this process at SIGTSTP, and continues the setup when this process is continued. */
static void setup_stop_until_continued(const struct setup_child *setup)
{
	sigset_t set;

	(void)kill(setup->pid, SIGTSTP);
	(void)raise(SIGTSTP);
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGTSTP);
	(void)sigprocmask(SIG_UNBLOCK, &set, NULL); /* this process stops here */
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	(void)kill(setup->pid, SIGCONT);
}

/* Passes a signal on to the setup, and notes that the run is to end. SIGTSTP stops both. */
static void setup_handle_signal(struct setup_child *setup, int number)
{
	if (number == SIGTSTP) {
		setup_stop_until_continued(setup);
	} else if (number != SIGCHLD) {
		setup->last_signal = number;
		(void)kill(setup->pid, number); /* ESRCH: the setup has just ended */
	}
}

/* Waits until the setup has ended, and passes signals on to it meanwhile. */
static void setup_wait_for_child(struct setup_child *setup)
{
	const struct timespec at_once = {0};
	int number;

	setup->wait_status = SIGKILL; /* if waitpid(2) failed, which cannot happen, the setup would count as killed */
	while (waitpid(setup->pid, &setup->wait_status, WNOHANG) == 0)
		if ((number = sigwaitinfo(&setup->awaited_signals, NULL)) > 0)
			setup_handle_signal(setup, number);
	while ((number = sigtimedwait(&setup->awaited_signals, NULL, &at_once)) > 0)
		setup_handle_signal(setup, number); /* a signal that arrived as the setup ended also ends the run */
}

/* The "status" in the setup's result; "failed" if there is none. */
static const char *setup_get_result_status(const struct run *run)
{
	const char *status = json_string_value(json_object_get(run->setup_result, "status"));

	return status ? status : "failed";
}

/* Whether the setup exited with 0 and the result "ok", and no signal asked for the run's end meanwhile. */
static bool setup_has_succeeded(const struct run *run, const struct setup_child *setup)
{
	return !setup->last_signal && WIFEXITED(setup->wait_status) && WEXITSTATUS(setup->wait_status) == 0 &&
	       strcmp(setup_get_result_status(run), "ok") == 0;
}

/* Makes the result of a run whose setup failed, with the setup's own result in it. */
static json_t *setup_make_failed_result(const struct run *run, const struct setup_child *setup, int exit_code,
					const char *message)
{
	static const char *const fields[] = {"status", "signal", "duration_ms"};
	json_t *result = result_make_error(run->scratch.id, exit_code, "setup_unsuccessful", message);

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (json_object_get(run->setup_result, fields[i]))
			(void)json_object_set(result, fields[i], json_object_get(run->setup_result, fields[i]));
	(void)json_object_set(result, "setup", run->setup_result ? run->setup_result : json_null());
	if (strcmp(setup_get_result_status(run), "ok") == 0)
		(void)json_object_set_new(result, "status", json_string(setup->last_signal ? "killed" : "error"));
	return result;
}

/* Reports that the program is not run, because its setup failed. Returns the exit status. */
static int setup_report_failure(struct run *run, const struct setup_child *setup)
{
	const char *status = setup_get_result_status(run);
	/* whether the status tells more than the exit code */
	bool telling = strcmp(status, "failed") != 0 && strcmp(status, "ok") != 0;
	int exit_code = WIFEXITED(setup->wait_status) ? WEXITSTATUS(setup->wait_status) : CLI_EXIT_ERROR;
	char message[160];
	_cleanup_json_ json_t *result = NULL;

	if (exit_code == 0) /* the setup had succeeded when a signal arrived */
		exit_code = setup->last_signal ? 128 + setup->last_signal : CLI_EXIT_ERROR;
	(void)snprintf(message, sizeof(message), "the setup ended with %d%s%s%s: the program was not run", exit_code,
		       telling ? " (" : "", telling ? status : "", telling ? ")" : "");
	cli_print_error("run", "%s", message);
	result = setup_make_failed_result(run, setup, exit_code, message);
	run_report_workspace(run, true, result);
	if (run->options.json && run_print_result(run, result) != CLI_EXIT_OK)
		exit_code = CLI_EXIT_ERROR;
	run_write_end_status(run, result);
	return exit_code;
}

/* Loads the program's policy again, for files that the setup created. What @interpreter stands for does not change. */
static int setup_reload_policy(struct run *run)
{
	_cleanup_policy_ struct policy *policy = NULL;
	int exit_code = run_load_policy(run, run->options.policy.cli.phase, &policy);

	if (exit_code != 0)
		return exit_code;
	exit_code = run_check_workspace_again(run, policy); /* the setup may have changed what paths lead to */
	if (exit_code != 0)
		return exit_code;
	if (setup_bind_secrets(&run->program_phase.egress_data_from_host, policy) < 0)
		return run_report_refusal(run, "policy_changed",
					  "the policy's secrets have changed since they were read; try again");
	policy_free(run->program_phase.policy);
	run->program_phase.policy = steal_pointer(&policy);
	return 0;
}

/*
 * Reads from the host what both phases need. This is done before the setup, which could change the files, and only
 * once, because a secret can be read only once from a file descriptor. Both phases have the same secrets.
 */
static int setup_read_host_for_both_phases(struct run *run)
{
	struct policy_error error = {""};
	bool network = policy_net_is_enabled(run->program_phase.policy);
	int r;

	/* No other process may read the secrets, nor the environment, from this process's memory. */
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); /* cannot fail */
	r = egress_read_host_data(run->program_phase.policy, true, &run->program_phase.egress_data_from_host, &error);
	if (r == 0)
		r = egress_read_host_data(run->setup_phase.policy, !network, &run->setup_phase.egress_data_from_host,
					  &error);
	if (r < 0)
		return run_report_refusal(run, "setup_failed", "%s", error.text);
	if (!network)
		run->program_phase.egress_data_from_host.secrets =
			steal_pointer(&run->setup_phase.egress_data_from_host.secrets);
	return 0;
}

/* Forks the setup's process. 0 or -errno. */
static int setup_fork_child(struct run *run, struct setup_child *setup)
{
	pid_t waiting = getpid();

	run->result_fd = memfd_create("callgate-setup", MFD_CLOEXEC);
	if (run->result_fd < 0)
		return -errno;
	if (run->options.dies_with_parent &&
	    (prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0) < 0 || getppid() != run->parent))
		return -EOWNERDEAD;
	(void)fflush(NULL);
	setup->pid = fork();
	if (setup->pid != 0)
		return setup->pid < 0 ? -errno : 0;
	if (setup->was_dumpable)
		(void)prctl(PR_SET_DUMPABLE, 1, 0, 0, 0); /* the keeper opens files in its own /proc */
	setup_run_child(run, waiting, &setup->mask_before);
}

/* Waits for the setup's end, and prepares the program or reports why it is not run. 0, or the exit status. */
static int setup_await_result(struct run *run, struct setup_child *setup)
{
	setup_wait_for_child(setup);
	if (lseek(run->result_fd, 0, SEEK_SET) == 0)
		run->setup_result = json_loadfd(run->result_fd, 0, NULL); /* NULL: the setup wrote no result */
	close_fd(&run->result_fd);
	return setup_has_succeeded(run, setup) ? setup_reload_policy(run) : setup_report_failure(run, setup);
}

bool run_perform_setup(struct run *run, int *ret_exit)
{
	struct setup_child setup = {.was_dumpable = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 1};
	int error;

	*ret_exit = run_write_start_status(run);
	if (*ret_exit == 0)
		*ret_exit = setup_read_host_for_both_phases(run);
	if (*ret_exit != 0)
		return false;
	setup_block_signals(&setup);
	error = setup_fork_child(run, &setup);
	*ret_exit = error < 0 ? run_report_refusal(run, "setup_failed", "cannot start the setup: %s", strerror(-error))
			      : setup_await_result(run, &setup);
	if (setup.was_dumpable)
		(void)prctl(PR_SET_DUMPABLE, 1, 0, 0, 0); /* dumpable, as before setup_read_host_for_both_phases() */
	(void)sigprocmask(SIG_SETMASK, &setup.mask_before, NULL);
	return *ret_exit == 0;
}
