/* The keeper's poll(2) loop during the run: output and input, time limits, signals, the supervisor's exit. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "keeper/anchor.h"
#include "keeper/progress.h"
#include "supervisor/limits/killtree.h"

/*
 * Time that the supervisor has to kill the process tree and to write its report, after the order to end the run. It may
 * be late because it waits in a system call for a hanging disk; then the keeper kills the process tree itself.
 */
#define KILL_SUPERVISOR_AFTER_NS UINT64_C(10000000000)
#define KILL_SUPERVISOR_AFTER_2ND_SIGNAL_NS UINT64_C(1000000000) /* the supervisor's time after a second signal */
/* the supervisor's time to end the run; then the keeper kills its descendants */
#define KILL_TREE_TIMEOUT_NS UINT64_C(500000000)

/* timeout(1) sends its signal to the command and to its process group. Two signals within this time count as one. */
#define SIGNALS_COUNT_AS_ONE_WITHIN_NS UINT64_C(250000000)

enum loop_source {
	SOURCE_SIGNAL,
	SOURCE_SUPERVISOR,
	SOURCE_REPORT,
	SOURCE_ACLS,
	SOURCE_OUT,
	SOURCE_ERR,
	SOURCE_INPUT,
	SOURCE_MAX
};

/* Orders the supervisor to end the run. A second order kills the supervisor and drops output that was not read yet. */
static void loop_end_run(struct keeper *keeper, unsigned end)
{
	unsigned char byte = (unsigned char)end;

	if (keeper->end_reason != RUN_END_NOT_ORDERED || keeper->supervisor_has_exited) {
		if (end != RUN_END_TIMEOUT) {
			if (!keeper->supervisor_has_exited)
				(void)kill(keeper->supervisor_pid, SIGKILL);
			capture_stop_forwarding(&keeper->outcome->out);
			capture_stop_forwarding(&keeper->outcome->err);
		}
		return;
	}
	keeper->end_reason = end;
	keeper->kill_supervisor_at_ns = io_read_clock_ns() + KILL_SUPERVISOR_AFTER_NS;
	keeper->kill_tree_at_ns = io_read_clock_ns() + KILL_TREE_TIMEOUT_NS;
	(void)!write(keeper->control_fd, &byte, 1); /* EPIPE: the supervisor has just exited */
}

/* Sends the supervisor an order that does not end the run: one byte of those listed at control_fd in process.h. */
static void loop_send_order_to_supervisor(const struct keeper *keeper, unsigned char order)
{
	if (!keeper->supervisor_has_exited && keeper->end_reason == RUN_END_NOT_ORDERED)
		(void)!write(keeper->control_fd, &order, 1); /* EPIPE: the supervisor has just exited */
}

/*
 * Asks the program to end by itself. The run is ended after the grace time, or when this function is called again. why:
 * RUN_END_TIMEOUT or a signal's number.
 */
static void loop_ask_program_to_end(struct keeper *keeper, unsigned why)
{
	const struct keeper_options *options = keeper->options;
	bool timeout = why == RUN_END_TIMEOUT;
	uint64_t grace_ns = timeout ? options->grace_ns : options->kill_after_ns;

	if (grace_ns == 0 || keeper->asked_to_end_reason || keeper->end_reason != RUN_END_NOT_ORDERED ||
	    keeper->supervisor_has_exited) {
		loop_end_run(keeper, keeper->asked_to_end_reason ? keeper->asked_to_end_reason : why);
		return;
	}
	keeper->asked_to_end_reason = why;
	keeper->asked_to_end_ns = io_read_clock_ns();
	keeper->grace_end_ns = keeper->asked_to_end_ns + grace_ns;
	loop_send_order_to_supervisor(keeper, (unsigned char)(timeout ? RUN_BYTE_ASK_TO_END_TIMEOUT
							      : RUN_BYTE_ASK_TO_END + why));
}

/* A signal to callgate ends the run: passes it on, or kills the run. */
static void loop_on_end_signal(struct keeper *keeper, unsigned number)
{
	bool again = keeper->asked_to_end_reason && keeper->asked_to_end_reason != RUN_END_TIMEOUT;

	if (again && io_read_clock_ns() - keeper->asked_to_end_ns < SIGNALS_COUNT_AS_ONE_WITHIN_NS)
		return;
	again = again && keeper->end_reason == RUN_END_NOT_ORDERED;
	loop_ask_program_to_end(keeper, number);
	if (again && keeper->end_reason != RUN_END_NOT_ORDERED)
		keeper->kill_supervisor_at_ns = io_read_clock_ns() + KILL_SUPERVISOR_AFTER_2ND_SIGNAL_NS;
}

/* callgate was stopped and goes on: continues the program as well. */
static void loop_on_sigcont(struct keeper *keeper)
{
	if (!keeper->supervisor_has_exited)
		terminal_set_raw_mode(&keeper->terminal);
	terminal_update_size(&keeper->terminal);
	loop_send_order_to_supervisor(keeper, SIGCONT);
}

/* Stops the program and then this process, by SIGTSTP because the kernel ignores that in an orphaned process group. */
static void loop_on_sigtstp(struct keeper *keeper)
{
	sigset_t set;

	progress_clear_status_line(keeper);
	loop_send_order_to_supervisor(keeper, SIGTSTP);
	terminal_leave_raw_mode(&keeper->terminal);
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGTSTP);
	(void)raise(SIGTSTP);
	(void)sigprocmask(SIG_UNBLOCK, &set, NULL); /* this process stops here */
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	loop_on_sigcont(keeper);
}

static void loop_on_signal(struct keeper *keeper)
{
	struct signalfd_siginfo info;

	if (read(keeper->signal_fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return;
	if (info.ssi_signo == SIGWINCH)
		terminal_update_size(&keeper->terminal);
	else if (info.ssi_signo == SIGTSTP)
		loop_on_sigtstp(keeper);
	else if (info.ssi_signo == SIGCONT)
		loop_on_sigcont(keeper);
	else
		loop_on_end_signal(keeper, info.ssi_signo);
}

/* Prints how to debug and how to continue each process that "on_deny": "stop" has stopped since the last call. */
static void loop_print_stopped_processes(struct keeper *keeper)
{
	const uint64_t stops = keeper->shared_page->stopped_process_count;

	progress_clear_status_line(keeper);
	if (stops - keeper->printed_stopped_process_count > RUN_LAST_STOPPED_PROCESSES_KEPT)
		keeper->printed_stopped_process_count = stops - RUN_LAST_STOPPED_PROCESSES_KEPT;
	for (; keeper->printed_stopped_process_count < stops; keeper->printed_stopped_process_count++) {
		const struct run_stop *stop =
			&keeper->shared_page
				 ->stop[keeper->printed_stopped_process_count % RUN_LAST_STOPPED_PROCESSES_KEPT];

		char text[200];
		int len = snprintf(text, sizeof(text),
				   "callgate: process %d was denied a call (record %" PRIu64 ") and is stopped; look "
				   "at it: gdb -p %d; go on: kill -CONT %d%s\n",
				   stop->host_pid, stop->seq, stop->host_pid, stop->host_pid,
				   keeper->options->uses_terminal ? "\r" : "");

		(void)!write(STDERR_FILENO, text, (size_t)len); /* text of ours and numbers: nothing to escape */
	}
}

/* Says once that an answer to a question of --ask cannot be read: the question stays open. */
static void loop_print_unreadable_answer(struct keeper *keeper)
{
	char text[200];
	int len;

	if (!keeper->shared_page->unreadable_answer || keeper->unreadable_answer_was_printed)
		return;
	keeper->unreadable_answer_was_printed = true;
	progress_clear_status_line(keeper);
	len = snprintf(text, sizeof(text),
		       "callgate: --ask: %" PRIu64 ".answer cannot be read by the run's user (uid %u): the "
		       "question waits until it can; chmod a+r%s\n",
		       keeper->shared_page->unreadable_answer, geteuid(), keeper->options->uses_terminal ? "\r" : "");
	(void)!write(STDERR_FILENO, text, (size_t)len); /* text of ours and numbers: nothing to escape */
}

/*
 * Handles a byte of the supervisor: a process was stopped, or an answer is forbidden; or the process tree is dead and
 * the report is written. The supervisor itself exits later, because its mounts must be released first.
 */
static void loop_on_supervisor_byte(struct keeper *keeper)
{
	const struct keeper_options *options = keeper->options;
	/*
	 * If `all` is false, a file in the scratch directory may still hold output, so the workdir and the run's
	 * directory must stay for now.
	 */
	bool all = options->forwards_output && options->stdout_limit_bytes == CAPTURE_NO_LIMIT &&
		   options->stderr_limit_bytes == CAPTURE_NO_LIMIT && !options->keeps_output_files;
	char byte;
	ssize_t got = read(keeper->control_fd, &byte, 1);

	if (got == 1 && (byte == RUN_BYTE_PROCESS_STOPPED || byte == RUN_BYTE_ANSWER_UNREADABLE)) {
		loop_print_stopped_processes(keeper);
		loop_print_unreadable_answer(keeper);
		return;
	}
	keeper->report_was_written = true;
	if (got != 1)
		return;
	options->scratch->may_be_reused_after_run = keeper->end_reason == RUN_END_NOT_ORDERED;
	if (!options->setup_phase_name)
		scratch_remove_empty_dirs(options->scratch, all);
	keeper->report_before_exit = keeper_read_report(keeper);
}

/* Drops output that its reader does not take at once, because the user wants the run to end. */
static void loop_drop_output_without_reader(struct keeper *keeper)
{
	struct pollfd reader = {.fd = STDOUT_FILENO, .events = POLLOUT};

	if (poll(&reader, 1, 0) <= 0)
		capture_stop_forwarding(&keeper->outcome->out);
}

/* Reaps the supervisor, and kills what is left of the run. */
static void loop_on_supervisor_exit(struct keeper *keeper)
{
	if (waitpid(keeper->supervisor_pid, &keeper->supervisor_wait_status, 0) != keeper->supervisor_pid)
		keeper->supervisor_wait_status = SIGKILL; /* cannot happen; counts as the supervisor's death */
	keeper->egress_failed = !egress_process_end(&keeper->egress, &keeper->egress_wait_status);
	/*
	 * The children of the dead supervisor are now children of this process. Those that survive the kill are in
	 * uninterruptible sleep.
	 */
	(void)killtree(KEEPER_KILL_TREE_TIMEOUT_MS, 0);
	keeper->supervisor_has_exited = true;
	keeper->outcome->duration_ns = io_read_clock_ns() - keeper->start_ns;
	if (keeper->end_reason != RUN_END_NOT_ORDERED)
		loop_drop_output_without_reader(keeper);
}

static void loop_on_acls_process_exit(struct keeper *keeper)
{
	(void)waitpid(keeper->acls_pid, NULL, 0);
	close_fd(&keeper->acls_pidfd);
}

/* Ends the run when the spill files reach their own limit or, together with all other files, the disk limit. */
static void loop_check_spill_files_limit(struct keeper *keeper)
{
	const struct capture *out = &keeper->outcome->out, *err = &keeper->outcome->err;
	uint64_t spilled = out->spilled_bytes + err->spilled_bytes;
	uint64_t disk = policy_get_settings(keeper->options->policy)->limits.disk_bytes;
	bool full = out->spill_error == EFBIG || err->spill_error == EFBIG;

	keeper->shared_page->spilled_bytes = spilled;
	if (disk && spilled + keeper->shared_page->disk_bytes > disk)
		full = true;
	if (full && spilled > 0 && keeper->end_reason == RUN_END_NOT_ORDERED && !keeper->supervisor_has_exited)
		loop_end_run(keeper, RUN_END_OUTPUT_LIMIT);
}

static void loop_on_output(struct keeper *keeper, struct capture *capture)
{
	size_t before = capture->pending_at;

	progress_clear_status_line(keeper);
	(void)capture_read_or_forward_chunk(capture); /* if nothing was moved, the stream is polled again */
	loop_check_spill_files_limit(keeper);
	if (capture->reader_is_gone && keeper->options->uses_terminal) {
		/* Hangs up the program's terminal: the program gets SIGHUP, where a pipe would give EPIPE. */
		stdin_relay_release(&keeper->stdin_relay);
		close_fd(&keeper->terminal.master_fd);
	}
	progress_note_output(keeper, capture, before);
}

static void loop_on_input(struct keeper *keeper)
{
	struct stdin_relay *relay = &keeper->stdin_relay;

	stdin_relay_move_bytes(relay);
	if (relay->escape_was_typed) {
		relay->escape_was_typed = false;
		loop_end_run(keeper, SIGTERM);
	}
}

/* When the time limit ends the run; UINT64_MAX: no limit, or the end of the run has been asked for already. */
static uint64_t loop_get_time_limit_end_ns(const struct keeper *keeper)
{
	if (!keeper->time_limit_end_ns || keeper->end_reason != RUN_END_NOT_ORDERED ||
	    keeper->asked_to_end_reason == RUN_END_TIMEOUT)
		return UINT64_MAX;
	return keeper->time_limit_end_ns;
}

/* Ends the run after the grace time, in which the program was asked to end by itself. */
static void loop_end_run_after_grace_time(struct keeper *keeper)
{
	keeper->grace_end_ns = 0;
	if (keeper->supervisor_has_exited)
		loop_drop_output_without_reader(keeper);
	else if (keeper->end_reason == RUN_END_NOT_ORDERED)
		loop_end_run(keeper, keeper->asked_to_end_reason);
}

/* Does what is due: time limit, grace time, killing the run's processes. */
static void loop_check_deadlines(struct keeper *keeper)
{
	uint64_t now = io_read_clock_ns();

	if (keeper->grace_end_ns && now >= keeper->grace_end_ns)
		loop_end_run_after_grace_time(keeper);
	anchor_write_due_checkpoint(keeper, now);
	if (keeper->supervisor_has_exited)
		return;
	if (now >= loop_get_time_limit_end_ns(keeper))
		loop_ask_program_to_end(keeper, RUN_END_TIMEOUT);
	if (keeper->kill_tree_at_ns && !keeper->report_was_written && now >= keeper->kill_tree_at_ns) {
		(void)killtree_kill_descendants_once(keeper->supervisor_pid);
		keeper->kill_tree_at_ns = io_read_clock_ns() + KILL_TREE_TIMEOUT_NS;
	}
	if (keeper->kill_supervisor_at_ns && now >= keeper->kill_supervisor_at_ns)
		(void)kill(keeper->supervisor_pid, SIGKILL);
	progress_report_due(keeper, now);
}

/* Timeout of poll(2) until the next deadline; -1: none. */
static int loop_get_timeout_ms(const struct keeper *keeper)
{
	uint64_t now = io_read_clock_ns(), until = keeper->grace_end_ns ? keeper->grace_end_ns : UINT64_MAX;

	if (!keeper->supervisor_has_exited) {
		if (loop_get_time_limit_end_ns(keeper) < until)
			until = loop_get_time_limit_end_ns(keeper);
		if (keeper->kill_supervisor_at_ns)
			until = keeper->report_was_written || keeper->kill_supervisor_at_ns < keeper->kill_tree_at_ns
					? keeper->kill_supervisor_at_ns
					: keeper->kill_tree_at_ns;
		if (progress_get_next_ns(keeper) < until)
			until = progress_get_next_ns(keeper);
		if (anchor_get_next_ns(keeper) < until)
			until = anchor_get_next_ns(keeper);
	}
	if (until == UINT64_MAX)
		return -1;
	if (until <= now)
		return 0;
	until = (until - now + 999999) / 1000000;
	return until > 3600000 ? 3600000 : (int)until;
}

void keeper_run_loop(struct keeper *keeper)
{
	struct keeper_outcome *outcome = keeper->outcome;
	struct pollfd poll_set[SOURCE_MAX];

	progress_start(keeper);
	while (!keeper->supervisor_has_exited || !capture_has_ended(&outcome->out) ||
	       !capture_has_ended(&outcome->err)) {
		poll_set[SOURCE_SIGNAL] = (struct pollfd){.fd = keeper->signal_fd, .events = POLLIN};
		poll_set[SOURCE_SUPERVISOR] = (struct pollfd){
			.fd = keeper->supervisor_has_exited ? -1 : keeper->supervisor_pidfd, .events = POLLIN};
		poll_set[SOURCE_REPORT] = (struct pollfd){
			.fd = keeper->supervisor_has_exited || keeper->report_was_written ? -1 : keeper->control_fd,
			.events = POLLIN};
		poll_set[SOURCE_ACLS] = (struct pollfd){.fd = keeper->acls_pidfd, .events = POLLIN};
		capture_get_pollfd(&outcome->out, &poll_set[SOURCE_OUT]);
		capture_get_pollfd(&outcome->err, &poll_set[SOURCE_ERR]);
		stdin_relay_get_pollfd(&keeper->stdin_relay, &poll_set[SOURCE_INPUT]);
		if (keeper->supervisor_has_exited)
			poll_set[SOURCE_INPUT].fd = -1;
		if (poll(poll_set, SOURCE_MAX, loop_get_timeout_ms(keeper)) < 0 && errno != EINTR)
			loop_end_run(keeper, SIGTERM); /* cannot happen with valid descriptors; do not spin */
		loop_check_deadlines(keeper);
		if (poll_set[SOURCE_SIGNAL].revents)
			loop_on_signal(keeper);
		if (poll_set[SOURCE_ACLS].revents)
			loop_on_acls_process_exit(keeper);
		if (poll_set[SOURCE_INPUT].revents)
			loop_on_input(keeper);
		if (poll_set[SOURCE_OUT].revents)
			loop_on_output(keeper, &outcome->out);
		if (poll_set[SOURCE_ERR].revents)
			loop_on_output(keeper, &outcome->err);
		if (poll_set[SOURCE_REPORT].revents)
			loop_on_supervisor_byte(keeper);
		if (poll_set[SOURCE_SUPERVISOR].revents)
			loop_on_supervisor_exit(keeper);
	}
	progress_clear_status_line(keeper);
}
