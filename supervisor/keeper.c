#include "supervisor/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "audit/audit.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "supervisor/keeper-fork.h"
#include "supervisor/killtree.h"
#include "supervisor/privs.h"
#include "supervisor/statusline.h"

#include "base/banned.h"

/* From telling the supervisor to end the run to killing it: it has the tree to kill and changes to sum up. */
#define PATIENCE_NS UINT64_C(10000000000)
#define KILL_TIMEOUT_MS 10000
#define REPORT_MAX_BYTES (512u << 20) /* above the most that changes.h and denials.h let grow */

struct keeper {
	const struct keeper_options *options;
	struct keeper_outcome *outcome;
	struct keeper_child child;
	struct feed feed;
	struct statusline line;
	int signal_fd;
	uint64_t start_ns;
	uint64_t patience_ns; /* when the supervisor is killed; 0: not told to end yet */
	unsigned end;         /* RUN_END_* or a signal's number */
	bool exited;          /* the supervisor has, and its tree is dead */
	int supervisor_status;
	char last_shown; /* on stderr */
};

enum source { SOURCE_SIGNAL, SOURCE_SUPERVISOR, SOURCE_OUT, SOURCE_ERR, SOURCE_FEED, SOURCE_MAX };

/* Signals that were ignored when callgate was started (nohup, background jobs of a plain shell) stay ignored. */
static int open_signals(void)
{
	static const int wanted[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	struct sigaction before;
	sigset_t set;

	(void)sigemptyset(&set);
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		if (sigaction(wanted[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
			(void)sigaddset(&set, wanted[i]);
	(void)signal(SIGPIPE, SIG_IGN); /* a closed stdout is an errno to handle */
	(void)signal(SIGCHLD, SIG_DFL); /* inherited as ignored it would reap for us */
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return -errno;
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static int settle(struct keeper *keeper)
{
	int error;

	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return -errno;
	error = privs_drop();
	if (error < 0)
		return error;
	keeper->signal_fd = open_signals();
	return keeper->signal_fd < 0 ? -errno : 0;
}

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
	(void)!write(keeper->child.control_fd, &byte, 1); /* EPIPE: it has just ended by itself */
}

static void on_signal(struct keeper *keeper)
{
	struct signalfd_siginfo info;

	if (read(keeper->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
		end_run(keeper, info.ssi_signo);
}

static void on_supervisor_exit(struct keeper *keeper)
{
	if (waitpid(keeper->child.pid, &keeper->supervisor_status, 0) != keeper->child.pid)
		keeper->supervisor_status = SIGKILL; /* cannot be: it is our child; treated as its death */
	(void)killtree(KILL_TIMEOUT_MS); /* what it left, which is now ours; a survivor is in uninterruptible sleep */
	keeper->exited = true;
	keeper->outcome->duration_ns = io_now_ns() - keeper->start_ns;
	if (keeper->end != RUN_END_NONE) {
		/* The user wants it over; what the reader of our output does not take now it does not get. */
		struct pollfd reader = {.fd = STDOUT_FILENO, .events = POLLOUT};

		if (poll(&reader, 1, 0) <= 0)
			capture_hurry(&keeper->outcome->out);
	}
}

static void on_output(struct keeper *keeper, struct capture *capture)
{
	size_t before = capture->pending_at;

	statusline_clear(&keeper->line);
	(void)capture_move(capture); /* nothing moved: it is polled again */
	if (capture == &keeper->outcome->err && capture->pending_at > before)
		keeper->last_shown = capture->pending[capture->pending_at - 1];
}

static void check_clock(struct keeper *keeper)
{
	uint64_t now = io_now_ns(), wall = keeper->options->wall_ns;

	if (keeper->exited)
		return;
	if (wall && keeper->end == RUN_END_NONE && now - keeper->start_ns >= wall)
		end_run(keeper, RUN_END_TIMEOUT);
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
		until = keeper->patience_ns;
	if (keeper->line.fd >= 0 && keeper->line.next_ns < until)
		until = keeper->line.next_ns;
	if (until == UINT64_MAX)
		return -1;
	if (until <= now)
		return 0;
	until = (until - now + 999999) / 1000000;
	return until > 3600000 ? 3600000 : (int)until;
}

static void loop(struct keeper *keeper)
{
	struct keeper_outcome *outcome = keeper->outcome;
	struct pollfd poll_set[SOURCE_MAX];

	while (!keeper->exited || !capture_ended(&outcome->out) || !capture_ended(&outcome->err)) {
		poll_set[SOURCE_SIGNAL] = (struct pollfd){.fd = keeper->signal_fd, .events = POLLIN};
		poll_set[SOURCE_SUPERVISOR] =
			(struct pollfd){.fd = keeper->exited ? -1 : keeper->child.pidfd, .events = POLLIN};
		capture_poll(&outcome->out, &poll_set[SOURCE_OUT]);
		capture_poll(&outcome->err, &poll_set[SOURCE_ERR]);
		feed_poll(&keeper->feed, &poll_set[SOURCE_FEED]);
		if (keeper->exited)
			poll_set[SOURCE_FEED].fd = -1;
		if (poll(poll_set, SOURCE_MAX, wait_ms(keeper)) < 0 && errno != EINTR)
			end_run(keeper, SIGTERM); /* cannot be, with five valid descriptors: end rather than spin */
		check_clock(keeper);
		if (poll_set[SOURCE_SIGNAL].revents)
			on_signal(keeper);
		if (poll_set[SOURCE_FEED].revents)
			feed_move(&keeper->feed);
		if (poll_set[SOURCE_OUT].revents)
			on_output(keeper, &outcome->out);
		if (poll_set[SOURCE_ERR].revents)
			on_output(keeper, &outcome->err);
		if (poll_set[SOURCE_SUPERVISOR].revents)
			on_supervisor_exit(keeper);
	}
	statusline_clear(&keeper->line);
}

/* ---- the outcome ---- */

static json_t *read_report(const struct keeper *keeper)
{
	_cleanup_free_ char *text = NULL;
	json_t *report;
	size_t len;

	if (!WIFEXITED(keeper->supervisor_status) || WEXITSTATUS(keeper->supervisor_status) != 0)
		return NULL;
	if (lseek(keeper->child.report_fd, 0, SEEK_SET) < 0 ||
	    io_read_fd(keeper->child.report_fd, REPORT_MAX_BYTES, &text, &len) < 0)
		return NULL;
	report = json_loadb(text, len, 0, NULL);
	if (!json_is_object(report)) {
		json_decref(report);
		return NULL;
	}
	return report;
}

/* The supervisor died. When that was our doing the reason for it stands; otherwise it is the error. */
static void judge_death(struct keeper *keeper)
{
	struct keeper_outcome *outcome = keeper->outcome;
	int status = keeper->supervisor_status, recovered = 0;

	outcome->ending = run_ending(keeper->end, SIGKILL, false);
	if (keeper->end == RUN_END_NONE) {
		outcome->ending = (struct run_ending){.status = RUN_ERROR, .exit_code = RUN_EXIT_ERROR};
		outcome->error_code = "supervisor_died";
	}
	if (keeper->options->audit_path)
		recovered = audit_recover(keeper->options->audit_path, run_status_name(outcome->ending.status));
	if (outcome->error_code)
		(void)snprintf(outcome->message, sizeof(outcome->message),
			       "the supervisor died (%s %d); the program and everything it started were killed%s%s",
			       WIFSIGNALED(status) ? "signal" : "exit status",
			       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status),
			       recovered < 0 ? "; the log could not be completed: " : "",
			       recovered < 0 ? strerror(-recovered) : "");
}

static void judge(struct keeper *keeper)
{
	struct keeper_outcome *outcome = keeper->outcome;
	json_t *exit_code, *error, *denied;

	outcome->report = read_report(keeper);
	if (!outcome->report) {
		judge_death(keeper);
		return;
	}
	exit_code = json_object_get(outcome->report, "exit_code");
	error = json_object_get(outcome->report, "error");
	denied = json_object_get(json_object_get(outcome->report, "calls"), "denied");
	outcome->ending =
		run_ending(keeper->end, (int)json_integer_value(json_object_get(outcome->report, "wait_status")),
			   json_integer_value(denied) > 0);
	if (error) {
		outcome->error_code = json_string_value(json_object_get(error, "code"));
		(void)snprintf(outcome->message, sizeof(outcome->message), "%s",
			       json_string_value(json_object_get(error, "message")));
		outcome->ending = (struct run_ending){.exit_code = (int)json_integer_value(exit_code)};
		outcome->ending.status = outcome->ending.exit_code == RUN_EXIT_REFUSED ? RUN_DENIED : RUN_ERROR;
	}
}

/* A filter on us already: another callgate's, which refuses us what a supervisor needs, or a container's. */
static bool is_filtered(void)
{
	_cleanup_free_ char *status = NULL;
	size_t len;

	return io_read_file(AT_FDCWD, "/proc/self/status", 65536, &status, &len) == 0 &&
	       strstr(status, "\nSeccomp:\t2") != NULL;
}

static void explain_failure(struct keeper_outcome *outcome, const char *step, int error)
{
	bool filtered = (error == -EPERM || error == -ENOSYS || error == -EACCES) && is_filtered();

	(void)snprintf(outcome->message, sizeof(outcome->message), "cannot %s: %s%s", step, strerror(-error),
		       filtered ? "; a seccomp filter is on this process already: is this callgate nested in "
				  "another, or in a container that forbids it? Run it outside of that"
				: "");
}

int keeper_run(const struct keeper_options *options, struct keeper_outcome *ret_outcome)
{
	struct keeper keeper = {.options = options, .outcome = ret_outcome, .signal_fd = -1, .last_shown = '\n'};
	const char *step = "give up privileges";
	int error;

	*ret_outcome =
		(struct keeper_outcome){.out = {.pipe_fd = -1, .spill_fd = -1}, .err = {.pipe_fd = -1, .spill_fd = -1}};
	keeper.child = (struct keeper_child){.pid = -1, .pidfd = -1, .control_fd = -1, .report_fd = -1};
	keeper.feed.pipe_fd = -1;
	error = settle(&keeper);
	keeper.start_ns = io_now_ns();
	statusline_init(&keeper.line, options->status_line ? STDERR_FILENO : -1);
	if (error == 0)
		error = keeper_fork(options, ret_outcome, &keeper.feed, &keeper.child, &step);
	if (error == 0) {
		loop(&keeper);
		judge(&keeper);
	} else {
		if (keeper.child.pid > 0)
			(void)kill(keeper.child.pid, SIGKILL);
		(void)killtree(KILL_TIMEOUT_MS);
		explain_failure(ret_outcome, step, error);
	}
	feed_done(&keeper.feed);
	keeper_child_done(&keeper.child);
	cleanup_close(&keeper.signal_fd);
	return error;
}

void keeper_outcome_done(struct keeper_outcome *outcome)
{
	capture_done(&outcome->out);
	capture_done(&outcome->err);
	json_decref(outcome->report);
	outcome->report = NULL;
}
