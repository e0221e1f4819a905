#include "supervisor/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "audit/audit.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "policy/net.h"
#include "supervisor/aside.h"
#include "supervisor/cgroup.h"
#include "supervisor/egress-start.h"
#include "supervisor/environment.h"
#include "supervisor/keeper-private.h"
#include "supervisor/killtree.h"
#include "supervisor/namespaces.h"
#include "supervisor/privs.h"
#include "supervisor/selffilter.h"
#include "supervisor/statusline.h"

#include "base/banned.h"

/*
 * From telling the supervisor to end the run to killing it: it has the tree to kill and changes to sum up. If it is late, stuck in
 * a call on a disk that does not answer, what is below it is killed from here: the program's time is over in any case.
 */
#define PATIENCE_NS UINT64_C(10000000000)
#define HELP_NS UINT64_C(500000000)
#define KILL_TIMEOUT_MS 10000

enum source { SOURCE_SIGNAL, SOURCE_SUPERVISOR, SOURCE_REPORT, SOURCE_OUT, SOURCE_ERR, SOURCE_FEED, SOURCE_MAX };

/* Signals that were ignored when callgate was started (nohup, background jobs of a plain shell) stay ignored. */
static int open_signals(void)
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
	(void)signal(SIGPIPE, SIG_IGN); /* a closed stdout is an errno to handle */
	(void)signal(SIGXFSZ, SIG_IGN); /* and so is a file that the caller's limit lets grow no more */
	(void)signal(SIGCHLD, SIG_DFL); /* inherited as ignored it would reap for us */
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return -errno;
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* After the last change of credentials, which forgets it; a parent that had gone before sends nothing any more. */
static int follow_parent(const struct keeper *keeper)
{
	if (!keeper->options->parent)
		return 0;
	(void)signal(SIGTERM, SIG_DFL); /* it was asked for, so it is not ignored */
	if (prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0) < 0)
		return -errno;
	return getppid() == keeper->options->parent ? 0 : -EOWNERDEAD;
}

static int settle(struct keeper *keeper)
{
	static const struct rlimit one_byte = {1, 1}, no_core = {0, 0}; /* as in launch.c */
	int error;

	/* For the supervisor as well, and both are not dumpable: a piped core_pattern heeds only the latter. */
	if (setrlimit(RLIMIT_CORE, &one_byte) < 0 && setrlimit(RLIMIT_CORE, &no_core) < 0)
		return -errno;
	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
		return -errno;
	/* What is left goes when the supervisor is in its namespaces, and the rest is locked then, when nobody waits for us. */
	error = privs_keep(&keeper->options->user, namespaces_caps, NAMESPACES_CAPS, false);
	if (error == 0 && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0) /* last: another uid resets it */
		error = -errno;
	if (error == 0)
		error = follow_parent(keeper);
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
	(void)killtree(KILL_TIMEOUT_MS, 0); /* what it left, which is now ours; a survivor is in uninterruptible sleep */
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
		/* A terminal that nobody looks at any more is hung up: the program gets SIGHUP, as EPIPE from a pipe. */
		feed_done(&keeper->streams.feed);
		cleanup_close(&keeper->streams.terminal.master_fd);
		keeper->streams.terminal.master_fd = -1;
	}
	if (capture == &keeper->outcome->err && capture->pending_at > before)
		keeper->last_shown = capture->pending[capture->pending_at - 1];
}

static void on_input(struct keeper *keeper)
{
	struct feed *feed = &keeper->streams.feed;

	feed_move(feed);
	if (feed->escaped) {
		feed->escaped = false;
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
		until = keeper->reported || keeper->patience_ns < keeper->help_ns ? keeper->patience_ns : keeper->help_ns;
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
		poll_set[SOURCE_REPORT] = (struct pollfd){
			.fd = keeper->exited || keeper->reported ? -1 : keeper->child.control_fd, .events = POLLIN};
		capture_poll(&outcome->out, &poll_set[SOURCE_OUT]);
		capture_poll(&outcome->err, &poll_set[SOURCE_ERR]);
		feed_poll(&keeper->streams.feed, &poll_set[SOURCE_FEED]);
		if (keeper->exited)
			poll_set[SOURCE_FEED].fd = -1;
		if (poll(poll_set, SOURCE_MAX, wait_ms(keeper)) < 0 && errno != EINTR)
			end_run(keeper, SIGTERM); /* cannot be, with valid descriptors: end rather than spin */
		check_clock(keeper);
		if (poll_set[SOURCE_SIGNAL].revents)
			on_signal(keeper);
		if (poll_set[SOURCE_FEED].revents)
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

static struct cgroup *make_cgroup(const struct keeper_options *options)
{
	const struct cgroup_options wanted = {.run_id = options->scratch->id,
					      .uid = options->user.set ? options->user.uid : geteuid(),
					      .gid = options->user.set ? options->user.gid : getegid(),
					      .limits = policy_limits(options->policy),
					      .layers = options->layers};

	return cgroup_create(&wanted);
}

/* What another user may not remove. */
static void hand_over(const struct cgroup *cgroup, const struct custodian *custodian)
{
	int parent_fds[CGROUP_BASES_MAX];
	const char *name = "";
	size_t count = custodian->pid > 0 ? cgroup_bases(cgroup, parent_fds, &name) : 0;

	for (size_t i = 0; i < count; i++)
		(void)custodian_remove_at_end(custodian, parent_fds[i], name); /* failed: it stays, and is empty */
}

/* Said before there is one, since the supervisor tells the log and the user which layers hold; then it has to hold. */
static void plan_self_filter(const struct policy *policy, struct layers *layers)
{
	const char *why;

	if (!layers_wanted(layers, LAYER_SELF_FILTER))
		return;
	if (selffilter_possible(&why))
		layers_set(layers, LAYER_SELF_FILTER, true, "keeper%s supervisor can only make the calls that they need",
			   policy_net_enabled(policy) ? ", egress, resolver and" : " and");
	else
		layers_set(layers, LAYER_SELF_FILTER, false, "%s", why);
}

/* As who started callgate: it reads the secrets, which the run's user need not be able to. */
static int start_egress(struct keeper *keeper)
{
	const struct keeper_options *options = keeper->options;
	const struct egress_start_options wanted = {.policy = options->policy,
						    .layers = options->layers,
						    .run_id = options->scratch->id,
						    .user = options->user};
	struct policy_error problem;
	int error = egress_start(&wanted, &keeper->egress, &problem);

	if (error < 0)
		(void)snprintf(keeper->outcome->message, sizeof(keeper->outcome->message), "%s", problem.text);
	return error;
}

/* Nothing was started, or not all of it. */
static void give_up(struct keeper *keeper, const char *step, int error)
{
	if (keeper->child.pid > 0)
		(void)kill(keeper->child.pid, SIGKILL);
	(void)egress_side_end(&keeper->egress, &keeper->egress_status);
	(void)killtree(KILL_TIMEOUT_MS, 0);
	if (!keeper->outcome->message[0])
		keeper_explain(keeper->outcome, step, error);
}

int keeper_run(const struct keeper_options *options, struct keeper_outcome *ret_outcome)
{
	struct keeper keeper = {.options = options, .outcome = ret_outcome, .signal_fd = -1, .last_shown = '\n'};
	const char *step = "give up privileges";
	int error;

	*ret_outcome =
		(struct keeper_outcome){.out = {.pipe_fd = -1, .spill_fd = -1}, .err = {.pipe_fd = -1, .spill_fd = -1}};
	keeper.child = (struct keeper_child){.pid = -1, .pidfd = -1, .control_fd = -1, .report_fd = -1};
	keeper.egress = (struct egress_side)EGRESS_SIDE_NONE;
	keeper.streams = (struct keeper_streams){.feed = {.from_fd = -1, .pipe_fd = -1}, .terminal = TERMINAL_NONE};
	/* While we still may, and are in no namespace of the run's. */
	keeper.child.cgroup = make_cgroup(options);
	hand_over(keeper.child.cgroup, options->custodian);
	plan_self_filter(options->policy, options->layers);
	error = start_egress(&keeper);
	if (error == 0)
		error = settle(&keeper);
	keeper.start_ns = io_now_ns();
	statusline_init(&keeper.line, options->status_line ? STDERR_FILENO : -1);
	if (error == 0)
		error = keeper_fork(options, ret_outcome, &keeper.streams, keeper.signal_fd, &keeper.egress, &keeper.child,
				    &step);
	egress_side_handed(&keeper.egress);
	if (error == 0)
		error = privs_drop();
	environment_scrub(); /* the supervisor has its copy, of which it scrubs all but the program's */
	if (keeper.child.behind)
		aside_step_forward();
	aside_be_prompt();
	if (error == 0 && options->layers->layer[LAYER_SELF_FILTER].active)
		error = selffilter_install(SELF_KEEPER);
	if (error == 0) {
		terminal_raw(&keeper.streams.terminal);
		loop(&keeper);
		keeper_judge(&keeper);
	} else {
		give_up(&keeper, step, error);
	}
	feed_done(&keeper.streams.feed);
	terminal_done(&keeper.streams.terminal);
	keeper_child_done(&keeper.child);
	egress_side_done(&keeper.egress);
	cleanup_close(&keeper.signal_fd);
	return error;
}
