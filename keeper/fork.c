#include "keeper/fork.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/ending.h"
#include "base/path.h"
#include "confine/scheduling.h"
#include "confine/cgroup.h"
#include "confine/descriptors.h"
#include "supervisor/process.h"

#include "base/banned.h"

static _Noreturn void child_main(const struct keeper_options *options, const struct keeper_child *child,
				 struct namespaces *namespaces, struct egress_side *egress, const int stdio_fd[3],
				 int control_fd)
{
	const struct process_options process = {
		.policy = options->policy,
		.scratch = {.run_id = options->scratch->id,
			    .base = options->scratch->base,
			    .path = options->scratch->path,
			    .fd = options->scratch->fd},
		.furnished_fd = child->furnished[0],
		.argv = options->argv,
		.preferred = options->preferred,
		.workdir_host = options->workdir_host,
		.audit_path = options->audit_path,
		.audit_fd = options->audit_fd,
		.audit_beside = options->audit_beside,
		.layers = options->layers,
		.namespaces = namespaces,
		.user = options->user,
		.tty = options->tty,
		.stdio_fd = {stdio_fd[0], stdio_fd[1], stdio_fd[2]},
		.control_fd = control_fd,
		.report_fd = child->report_fd,
		.counters = child->counters,
		.cgroup = child->cgroup,
		.egress = egress,
	};
	const int own[] = {stdio_fd[0],
			   stdio_fd[1],
			   stdio_fd[2],
			   control_fd,
			   options->audit_fd,
			   child->report_fd,
			   child->furnished[0],
			   namespaces->peer_fd,
			   namespaces->host_root_fd,
			   namespaces->host_pidns_fd,
			   options->scratch->base_fd,
			   options->scratch->fd,
			   egress->control_fd,
			   egress->dns_fd[0],
			   egress->dns_fd[1]};

	int keep[sizeof(own) / sizeof(own[0]) + CGROUP_FDS_MAX];
	size_t count = sizeof(own) / sizeof(own[0]);

	memcpy(keep, own, sizeof(own));
	count += cgroup_fds(child->cgroup, keep + count);
	descriptors_detach_stdio(true);
	descriptors_keep_only(keep, count);
	ending(process_main(&process)); /* stdio was flushed before the fork */
}

static int make_shared(struct keeper_child *child)
{
	child->counters =
		mmap(NULL, sizeof(*child->counters), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (child->counters == MAP_FAILED) {
		child->counters = NULL;
		return -errno;
	}
	child->report_fd = memfd_create("callgate-report", MFD_CLOEXEC);
	return child->report_fd < 0 ? -errno : 0;
}

/* Everything the program writes comes out of its terminal: there is no stderr to tell apart. */
static int make_terminal(const struct keeper_options *options, const struct capture_options *out,
			 struct keeper_outcome *outcome, struct keeper_streams *streams, int stdio_fd[3])
{
	int error = terminal_open(&streams->terminal, options->show, &stdio_fd[0]), read_fd = -1, write_fd = -1;

	for (size_t i = 1; error == 0 && i < 3; i++) {
		stdio_fd[i] = fcntl(stdio_fd[0], F_DUPFD_CLOEXEC, 3);
		error = stdio_fd[i] < 0 ? -errno : 0;
	}
	if (error == 0)
		error = write_fd = terminal_master(&streams->terminal);
	if (error < 0)
		return error;
	feed_init_terminal(&streams->feed, STDIN_FILENO, write_fd);
	read_fd = terminal_master(&streams->terminal);
	return read_fd < 0 ? read_fd : capture_init_from(&outcome->out, out, read_fd);
}

static int make_streams(const struct keeper_options *options, struct keeper_outcome *outcome,
			struct keeper_streams *streams, int stdio_fd[3])
{
	struct capture_options out = {.forward_fd = options->show ? STDOUT_FILENO : -1,
				      .keep = !options->show || options->stdout_bytes != CAPTURE_NO_LIMIT,
				      .limit_bytes = options->stdout_bytes,
				      .spill_dirfd = options->scratch->fd,
				      .spill_name = outcome->out_name};
	struct capture_options err = out;
	int error;

	err.forward_fd = options->show ? STDERR_FILENO : -1;
	err.keep = !options->show || options->stderr_bytes != CAPTURE_NO_LIMIT;
	err.limit_bytes = options->stderr_bytes;
	err.spill_name = outcome->err_name;
	(void)snprintf(outcome->out_name, sizeof(outcome->out_name), "%s%s%s.stdout", options->scratch->id,
		       options->part ? "." : "", options->part ? options->part : "");
	(void)snprintf(outcome->err_name, sizeof(outcome->err_name), "%s%s%s.stderr", options->scratch->id,
		       options->part ? "." : "", options->part ? options->part : "");
	if (options->tty) {
		error = make_terminal(options, &out, outcome, streams, stdio_fd);
		return error < 0 ? error : capture_init_from(&outcome->err, &err, -1);
	}
	error = feed_init(&streams->feed, options->interactive ? STDIN_FILENO : -1, &stdio_fd[0]);
	if (error == 0)
		error = capture_init(&outcome->out, &out, &stdio_fd[1]);
	if (error == 0)
		error = capture_init(&outcome->err, &err, &stdio_fd[2]);
	return error;
}

/* What the policy leads elsewhere, say /var/tmp. What lies deeper the view makes. */
static void furnish_redirects(const struct keeper_options *options)
{
	size_t count;
	const struct policy_mount *mount = policy_mounts(options->policy, &count);

	for (size_t i = 0; i < count; i++) {
		const char *name = mount[i].create ? path_rest(mount[i].host, options->scratch->path) : NULL;

		if (name && *name && !strchr(name, '/'))
			scratch_add(options->scratch, name);
	}
}

static void tell(const struct keeper_child *child)
{
	/* EPIPE: it is dead, which shows elsewhere */
	(void)!write(child->furnished[1], &child->furnish_error, sizeof(child->furnish_error));
}

/*
 * A disk takes its time: directories are made while the supervisor starts, and the policy's digest, which the log
 * begins with. Told anew to each that is forked. That dead runs left something is nobody's hurry either.
 */
static void furnish(const struct keeper_options *options, struct keeper_child *child, bool again)
{
	if (!again && options->scratch_bare) {
		child->furnish_error = scratch_furnish(options->scratch);
		furnish_redirects(options);
	}
	tell(child);
	if (again || child->furnish_error < 0)
		return;
	child->furnish_error = policy_seal(options->policy);
	if (child->furnish_error == 0) {
		memcpy(child->counters->policy_sha256, policy_sha256(options->policy),
		       sizeof(child->counters->policy_sha256));
		__atomic_store_n(&child->counters->sealed, true, __ATOMIC_RELEASE);
	}
	tell(child);
	if (options->scratch_bare)
		scratch_sweep(options->scratch);
}

/* Readable when a signal came that ends the run: those that were ignored at the start never do. Not read here. */
static int open_ending_signals(void)
{
	sigset_t ending;

	(void)sigemptyset(&ending);
	(void)sigaddset(&ending, SIGINT);
	(void)sigaddset(&ending, SIGTERM);
	(void)sigaddset(&ending, SIGHUP);
	(void)sigaddset(&ending, SIGQUIT);
	return signalfd(-1, &ending, SFD_CLOEXEC);
}

/* Forks the supervisor into the namespaces that can be had; found out by trying, so perhaps more than once. */
static int fork_supervisor(const struct keeper_options *options, struct keeper_child *child,
			   const struct keeper_wait *wait, struct egress_side *egress, const int stdio_fd[3],
			   int control_fd)
{
	_cleanup_close_ int end_fd = open_ending_signals(); /* -1: their time comes when the fork is done */
	struct namespaces namespaces = NAMESPACES_NONE;
	bool behind = false, again = false;

	namespaces.end_fd = end_fd;
	namespaces.until_ns = wait->until_ns;
	namespaces.layers = options->layers;
	namespaces.net_may_wait = !egress->active;
	if (!cgroup_has(child->cgroup, CGROUP_PIDS))
		namespaces.tasks_most = policy_limits(options->policy)->pids;
	do {
		if (behind)
			scheduling_set_normal(); /* else the child would be behind, too */
		child->pid = namespaces_fork(&namespaces);
		if (child->pid == 0) {
			(void)close(child->control_fd); /* else the supervisor would never see the keeper die */
			cleanup_close(&child->furnished[1]);
			child_main(options, child, &namespaces, egress, stdio_fd, control_fd);
		}
		if (child->pid > 0 && !namespaces.lost) /* what is left of one that is lost never hears, and ends */
			furnish(options, child, again);
		again = true;
		behind = scheduling_set_batch();
	} while (child->pid > 0 && namespaces_again(&namespaces, child->pid, wait->signal_fd));
	namespaces_done(&namespaces);
	child->behind = behind;
	return child->pid < 0 ? child->pid : 0;
}

int keeper_fork(const struct keeper_options *options, struct keeper_outcome *outcome, struct keeper_streams *streams,
		const struct keeper_wait *wait, struct egress_side *egress, struct keeper_child *ret_child,
		const char **ret_step)
{
	struct keeper_child child = {.pid = -1,
				     .pidfd = -1,
				     .control_fd = -1,
				     .report_fd = -1,
				     .furnished = {-1, -1},
				     .cgroup = ret_child->cgroup};
	int stdio_fd[3] = {-1, -1, -1}, control[2] = {-1, -1}, error;

	*ret_step = options->tty ? "make a terminal for the program (/dev/ptmx, devpts)" : "make the pipes";
	error = make_streams(options, outcome, streams, stdio_fd);
	if (error == 0)
		error = make_shared(&child);
	if (error == 0 && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, control) < 0)
		error = -errno;
	if (error == 0 && pipe2(child.furnished, O_CLOEXEC) < 0)
		error = -errno;
	child.control_fd = control[1];
	if (error == 0) {
		*ret_step = "fork";
		(void)fflush(NULL);
		error = fork_supervisor(options, &child, wait, egress, stdio_fd, control[0]);
	}
	if (error == 0) {
		*ret_step = "watch the supervisor";
		child.pidfd = (int)syscall(SYS_pidfd_open, child.pid, 0);
		if (child.pidfd < 0)
			error = -errno;
	}
	for (size_t i = 0; i < 3; i++)
		cleanup_close(&stdio_fd[i]);
	cleanup_close(&control[0]);
	for (size_t i = 0; i < 2; i++) {
		cleanup_close(&child.furnished[i]);
		child.furnished[i] = -1;
	}
	*ret_child = child;
	return error;
}

void keeper_child_done(struct keeper_child *child)
{
	cleanup_close(&child->pidfd);
	cleanup_close(&child->control_fd);
	cleanup_close(&child->report_fd);
	cgroup_destroy(child->cgroup);
	if (child->counters)
		(void)munmap(child->counters, sizeof(*child->counters));
	*child = (struct keeper_child){.pid = -1, .pidfd = -1, .control_fd = -1, .report_fd = -1};
}
