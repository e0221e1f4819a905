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
#include "confine/cgroup.h"
#include "confine/descriptors.h"
#include "confine/scheduling.h"
#include "supervisor/process.h"

#include "base/banned.h"

static _Noreturn void keeper_child_main(const struct keeper_options *options, const struct keeper_child *child,
					struct namespaces *namespaces, struct egress_side *egress,
					const int stdio_fd[3], int control_fd)
{
	const struct process_options process = {
		.policy = options->policy,
		.scratch = {.run_id = options->scratch->id,
			    .base = options->scratch->base,
			    .path = options->scratch->path,
			    .fd = options->scratch->fd},
		.keeper_ready_fd = child->ready_pipe[0],
		.argv = options->argv,
		.preferred = options->preferred,
		.workdir_host = options->workdir_host,
		.audit_path = options->audit_path,
		.audit_fd = options->audit_fd,
		.audit_earlier = options->audit_earlier,
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
	const int own[] = {stdio_fd[0], stdio_fd[1], stdio_fd[2], control_fd, options->audit_fd, child->report_fd,
			   child->ready_pipe[0], namespaces->peer_fd, namespaces->host_root_fd,
			   namespaces->host_pidns_fd, options->scratch->base_fd, options->scratch->fd,
			   egress->control_fd, egress->dns_fd[0], egress->dns_fd[1]};
	int keep[sizeof(own) / sizeof(own[0]) + CGROUP_FDS_MAX];
	size_t count = sizeof(own) / sizeof(own[0]);

	memcpy(keep, own, sizeof(own));
	count += cgroup_fds(child->cgroup, keep + count);
	descriptors_detach_stdio(true);
	descriptors_keep_only(keep, count);
	ending(process_main(&process)); /* stdio was flushed before the fork */
}

static int keeper_make_shared(struct keeper_child *child)
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

/* On a terminal stdout and stderr are one stream, which is captured as stdout. */
static int keeper_make_terminal(const struct keeper_options *options, const struct capture_options *out,
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
	stdin_relay_init_terminal(&streams->input, STDIN_FILENO, write_fd);
	read_fd = terminal_master(&streams->terminal);
	return read_fd < 0 ? read_fd : capture_init_from(&outcome->out, out, read_fd);
}

static int keeper_make_streams(const struct keeper_options *options, struct keeper_outcome *outcome,
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
		error = keeper_make_terminal(options, &out, outcome, streams, stdio_fd);
		return error < 0 ? error : capture_init_from(&outcome->err, &err, -1);
	}
	error = stdin_relay_init(&streams->input, options->interactive ? STDIN_FILENO : -1, &stdio_fd[0]);
	if (error == 0)
		error = capture_init(&outcome->out, &out, &stdio_fd[1]);
	if (error == 0)
		error = capture_init(&outcome->err, &err, &stdio_fd[2]);
	return error;
}

/* Directories for redirects into the scratch directory, say of /var/tmp. The view makes those in subdirectories. */
static void keeper_add_redirect_dirs(const struct keeper_options *options)
{
	size_t count;
	const struct policy_mount *mount = policy_mounts(options->policy, &count);

	for (size_t i = 0; i < count; i++) {
		const char *name = mount[i].create ? path_rest(mount[i].host, options->scratch->path) : NULL;

		if (name && *name && !strchr(name, '/'))
			scratch_add_dir(options->scratch, name);
	}
}

static void keeper_send_ready(const struct keeper_child *child)
{
	/* EPIPE: it is dead, which the loop handles */
	(void)!write(child->ready_pipe[1], &child->scratch_error, sizeof(child->scratch_error));
}

/*
 * What the disk or the CPU takes time for is done here, while the supervisor starts: the scratch directories, the
 * policy's digest (the first record of the log needs it), and the removal of what dead runs left. Each supervisor that
 * is forked is told again that the directories are there.
 */
static void keeper_prepare(const struct keeper_options *options, struct keeper_child *child, bool again)
{
	if (!again && options->scratch_dirs_pending) {
		child->scratch_error = scratch_make_dirs(options->scratch);
		keeper_add_redirect_dirs(options);
	}
	keeper_send_ready(child);
	if (again || child->scratch_error < 0)
		return;
	child->scratch_error = policy_seal(options->policy);
	if (child->scratch_error == 0) {
		memcpy(child->counters->policy_sha256, policy_settings(options->policy)->sha256,
		       sizeof(child->counters->policy_sha256));
		__atomic_store_n(&child->counters->sealed, true, __ATOMIC_RELEASE);
	}
	keeper_send_ready(child);
	if (options->scratch_dirs_pending)
		scratch_sweep(options->scratch);
}

/* A signalfd, readable when a signal ends the run. It is not read here. Ignored signals never make it readable. */
static int keeper_open_end_signals(void)
{
	sigset_t ending;

	(void)sigemptyset(&ending);
	(void)sigaddset(&ending, SIGINT);
	(void)sigaddset(&ending, SIGTERM);
	(void)sigaddset(&ending, SIGHUP);
	(void)sigaddset(&ending, SIGQUIT);
	return signalfd(-1, &ending, SFD_CLOEXEC);
}

/* Forks the supervisor into the namespaces that can be made; again with fewer when it could not use one. */
static int keeper_fork_supervisor(const struct keeper_options *options, struct keeper_child *child,
				  const struct keeper_wait *wait, struct egress_side *egress, const int stdio_fd[3],
				  int control_fd)
{
	_cleanup_close_ int end_fd = keeper_open_end_signals(); /* -1: signals are handled after the fork */
	struct namespaces namespaces = NAMESPACES_NONE;
	bool batch = false, again = false;

	namespaces.end_fd = end_fd;
	namespaces.until_ns = wait->until_ns;
	namespaces.layers = options->layers;
	namespaces.net_may_wait = !egress->active;
	if (!cgroup_has(child->cgroup, CGROUP_PIDS))
		namespaces.tasks_most = policy_settings(options->policy)->limits.pids;
	do {
		if (batch)
			scheduling_set_normal(); /* the child would inherit SCHED_BATCH */
		child->pid = namespaces_fork(&namespaces);
		if (child->pid == 0) {
			(void)close(child->control_fd); /* else the supervisor would not see EOF when the keeper dies */
			cleanup_close(&child->ready_pipe[1]);
			keeper_child_main(options, child, &namespaces, egress, stdio_fd, control_fd);
		}
		if (child->pid > 0 && !namespaces.lost) /* of a lost one nothing is left that reads this */
			keeper_prepare(options, child, again);
		again = true;
		batch = scheduling_set_batch();
	} while (child->pid > 0 && namespaces_again(&namespaces, child->pid, wait->signal_fd));
	namespaces_done(&namespaces);
	child->batch = batch;
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
				     .ready_pipe = {-1, -1},
				     .cgroup = ret_child->cgroup};
	int stdio_fd[3] = {-1, -1, -1}, control[2] = {-1, -1}, error;

	*ret_step = options->tty ? "make a terminal for the program (/dev/ptmx, devpts)" : "make the pipes";
	error = keeper_make_streams(options, outcome, streams, stdio_fd);
	if (error == 0)
		error = keeper_make_shared(&child);
	if (error == 0 && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, control) < 0)
		error = -errno;
	if (error == 0 && pipe2(child.ready_pipe, O_CLOEXEC) < 0)
		error = -errno;
	child.control_fd = control[1];
	if (error == 0) {
		*ret_step = "fork";
		(void)fflush(NULL);
		error = keeper_fork_supervisor(options, &child, wait, egress, stdio_fd, control[0]);
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
	for (size_t i = 0; i < 2; i++)
		close_fd(&child.ready_pipe[i]);
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
