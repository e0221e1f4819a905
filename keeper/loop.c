/* What the keeper does while the run lasts: output and input, the clock, signals, the supervisor's end. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "keeper/private.h"
#include "supervisor/limits/killtree.h"

#include "base/banned.h"

/*
 * From telling the supervisor to end the run to killing it: it has the tree to kill and changes to sum up. If it is
 * late, stuck in a call on a disk that does not answer, what is below it is killed from here: the program's time is
 * over in any case.
 */
#define PATIENCE_NS UINT64_C(10000000000)
#define HELP_NS UINT64_C(500000000)

enum source { SOURCE_SIGNAL, SOURCE_SUPERVISOR, SOURCE_REPORT, SOURCE_OUT, SOURCE_ERR, SOURCE_INPUT, SOURCE_MAX };

/* Asks the supervisor to end the run; asked again, it is killed with everything at once. */
static void end_run(struct keeper *keeper, unsigned end)
{
	unsigned char byte = (unsigned char)end;

	if (keeper->end != RUN_END_NONE || keeper->exited) {
		if (end != RUN_END_TIMEOUT) {
			if (!keeper->exited)
				(void)kill(keeper->child.pid, SIGKILL);
			capture_hurry(&keeper->outcome->out);
			capture_hurry(&keeper->outcome->err);
		}
		return;
	}
	keeper->end = end;
	keeper->patience_ns = io_now_ns() + PATIENCE_NS;
	keeper->help_ns = io_now_ns() + HELP_NS;
	(void)!write(keeper->child.control_fd, &byte, 1); /* EPIPE: it has just ended by itself */
}

/* The program's own group stops and goes on with us, as in one job; see supervise.h. */
static void tell_stop(const struct keeper *keeper, unsigned char signal_number)
{
	if (!keeper->exited && keeper->end == RUN_END_NONE)
		(void)!write(keeper->child.control_fd, &signal_number, 1); /* EPIPE: it has just ended by itself */
}

static void go_on(struct keeper *keeper)
{
	if (!keeper->exited)
		terminal_raw(&keeper->streams.terminal);
	terminal_resize(&keeper->streams.terminal);
	tell_stop(keeper, SIGCONT);
}

/* Stops this process by the signal itself, so that the kernel decides whether there is anybody to continue it. */
static void stop(struct keeper *keeper)
{
	sigset_t set;

	statusline_clear(&keeper->line);
	tell_stop(keeper, SIGTSTP);
	terminal_restore(&keeper->streams.terminal);
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGTSTP);
	(void)raise(SIGTSTP);
	(void)sigprocmask(SIG_UNBLOCK, &set, NULL); /* here we stop */
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	go_on(keeper);
}

static void on_signal(struct keeper *keeper)
{
	struct signalfd_siginfo info;

	if (read(keeper->signal_fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return;
	if (info.ssi_signo == SIGWINCH)
		terminal_resize(&keeper->streams.terminal);
	else if (info.ssi_signo == SIGTSTP)
		stop(keeper);
	else if (info.ssi_signo == SIGCONT)
		go_on(keeper);
	else
		end_run(keeper, info.ssi_signo);
}

/* The supervisor has killed the tree and told all; its own end, with all those mounts, takes a while. */
static void on_report(struct keeper *keeper)
{
	const struct keeper_options *options = keeper->options;
	/* Output that is not shown, or past its limit, may still come to be kept in a file. */
	bool all = options->show && options->stdout_bytes == CAPTURE_NO_LIMIT &&
		   options->stderr_bytes == CAPTURE_NO_LIMIT && !options->output;
	unsigned char byte;

	keeper->reported = true;
	if (read(keeper->child.control_fd, &byte, 1) != 1)
		return;
	options->scratch->ended_well = keeper->end == RUN_END_NONE;
	if (!options->part)
		scratch_remove_early(options->scratch, all);
	keeper->early = keeper_read_report(keeper);
}

static void on_supervisor_exit(struct keeper *keeper)
{
	if (waitpid(keeper->child.pid, &keeper->supervisor_status, 0) != keeper->child.pid)
		keeper->supervisor_status = SIGKILL; /* cannot be: it is our child; treated as its death */
	keeper->egress_failed = !egress_side_end(&keeper->egress, &keeper->egress_status);
	/* what it left, which is now ours; a survivor is in uninterruptible sleep */
	(void)killtree(KEEPER_KILL_TIMEOUT_MS, 0);
	keeper->exited = true;
	keeper->outcome->duration_ns = io_now_ns() - keeper->start_ns;
	if (keeper->end != RUN_END_NONE) {
		/* The user wants it over; what the reader of our output does not take now it does not get. */
		struct pollfd reader = {.fd = STDOUT_FILENO, .events = POLLOUT};

		if (poll(&reader, 1, 0) <= 0)
			capture_hurry(&keeper->outcome->out);
	}
}

/*
 * Output past its limit goes to a file, which is bounded: by its own bound, and with all else by the limit of the
 * disk.
 */
static void check_spill(struct keeper *keeper)
{
	const struct capture *out = &keeper->outcome->out, *err = &keeper->outcome->err;
	uint64_t spilled = out->spilled_bytes + err->spilled_bytes;
	uint64_t disk = policy_limits(keeper->options->policy)->disk_bytes;
	bool full = out->spill_error == EFBIG || err->spill_error == EFBIG;

	keeper->child.counters->spilled_bytes = spilled;
	if (disk && spilled + keeper->child.counters->disk_bytes > disk)
		full = true;
	if (full && spilled > 0 && keeper->end == RUN_END_NONE && !keeper->exited)
		end_run(keeper, RUN_END_OUTPUT);
}

static void on_output(struct keeper *keeper, struct capture *capture)
{
	size_t before = capture->pending_at;

	statusline_clear(&keeper->line);
	(void)capture_move(capture); /* nothing moved: it is polled again */
	check_spill(keeper);
	if (capture->reader_gone && keeper->options->tty) {
		/*
		 * A terminal that nobody looks at any more is hung up: the program gets SIGHUP, as EPIPE from a pipe.
		 */
		stdin_relay_done(&keeper->streams.input);
		cleanup_close(&keeper->streams.terminal.master_fd);
		keeper->streams.terminal.master_fd = -1;
	}
	if (capture == &keeper->outcome->err && capture->pending_at > before)
		keeper->last_shown = capture->pending[capture->pending_at - 1];
}

static void on_input(struct keeper *keeper)
{
	struct stdin_relay *relay = &keeper->streams.input;

	stdin_relay_move(relay);
	if (relay->escaped) {
		relay->escaped = false;
		end_run(keeper, SIGTERM);
	}
}

static void check_clock(struct keeper *keeper)
{
	uint64_t now = io_now_ns(), wall = keeper->options->wall_ns;

	if (keeper->exited)
		return;
	if (wall && keeper->end == RUN_END_NONE && now - keeper->start_ns >= wall)
		end_run(keeper, RUN_END_TIMEOUT);
	if (keeper->help_ns && !keeper->reported && now >= keeper->help_ns) {
		killtree_below(keeper->child.pid);
		keeper->help_ns = io_now_ns() + HELP_NS;
	}
	if (keeper->patience_ns && now >= keeper->patience_ns)
		(void)kill(keeper->child.pid, SIGKILL);
	statusline_tick(&keeper->line, keeper->child.counters, keeper->last_shown == '\n');
}

/* Until the next thing to do by the clock; -1: nothing. */
static int wait_ms(const struct keeper *keeper)
{
	uint64_t now = io_now_ns(), until = UINT64_MAX, wall = keeper->options->wall_ns;

	if (keeper->exited)
		return -1;
	if (wall && keeper->end == RUN_END_NONE && wall < UINT64_MAX - keeper->start_ns)
		until = keeper->start_ns + wall;
	if (keeper->patience_ns)
		until = keeper->reported || keeper->patience_ns < keeper->help_ns ? keeper->patience_ns
										  : keeper->help_ns;
	if (keeper->line.fd >= 0 && keeper->line.next_ns < until)
		until = keeper->line.next_ns;
	if (until == UINT64_MAX)
		return -1;
	if (until <= now)
		return 0;
	until = (until - now + 999999) / 1000000;
	return until > 3600000 ? 3600000 : (int)until;
}

void keeper_loop(struct keeper *keeper)
{
	struct keeper_outcome *outcome = keeper->outcome;
	struct pollfd poll_set[SOURCE_MAX];

	while (!keeper->exited || !capture_ended(&outcome->out) || !capture_ended(&outcome->err)) {
		poll_set[SOURCE_SIGNAL] = (struct pollfd){.fd = keeper->signal_fd, .events = POLLIN};
		poll_set[SOURCE_SUPERVISOR] =
			(struct pollfd){.fd = keeper->exited ? -1 : keeper->child.pidfd, .events = POLLIN};
		poll_set[SOURCE_REPORT] = (struct pollfd){
			.fd = keeper->exited || keeper->reported ? -1 : keeper->child.control_fd, .events = POLLIN};
		capture_poll(&outcome->out, &poll_set[SOURCE_OUT]);
		capture_poll(&outcome->err, &poll_set[SOURCE_ERR]);
		stdin_relay_poll(&keeper->streams.input, &poll_set[SOURCE_INPUT]);
		if (keeper->exited)
			poll_set[SOURCE_INPUT].fd = -1;
		if (poll(poll_set, SOURCE_MAX, wait_ms(keeper)) < 0 && errno != EINTR)
			end_run(keeper, SIGTERM); /* cannot be, with valid descriptors: end rather than spin */
		check_clock(keeper);
		if (poll_set[SOURCE_SIGNAL].revents)
			on_signal(keeper);
		if (poll_set[SOURCE_INPUT].revents)
			on_input(keeper);
		if (poll_set[SOURCE_OUT].revents)
			on_output(keeper, &outcome->out);
		if (poll_set[SOURCE_ERR].revents)
			on_output(keeper, &outcome->err);
		if (poll_set[SOURCE_REPORT].revents)
			on_report(keeper);
		if (poll_set[SOURCE_SUPERVISOR].revents)
			on_supervisor_exit(keeper);
	}
	statusline_clear(&keeper->line);
}
