/* The keeper's fork of the supervisor, and the pipes between keeper, supervisor and program. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
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
#include "keeper/acls.h"
#include "keeper/evidence.h"
#include "keeper/private.h"
#include "supervisor/process.h"

/* Descriptors created for the supervisor. The keeper closes its copies after the fork. */
struct fork_descriptors {
	int stdio_fd[3]; /* the program's stdin, stdout and stderr */
	int control_fd;  /* the supervisor's end of the control socket */
	int acls_fd;     /* of keeper_fork_acls_process() */
	int keeper_ready_pipe[2];  /* the keeper writes an int, 0 or -errno, after each step of keeper_prepare_run */
	int last_prepare_step_result; /* 0 or -errno of the last step; written to keeper_ready_pipe */
};

static struct process_options keeper_get_process_options(struct keeper *keeper, const struct fork_descriptors *ends,
							 struct namespaces *namespaces)
{
	const struct keeper_options *options = keeper->options;

	return (struct process_options){
		.policy = options->policy,
		.scratch = {.run_id = options->scratch->id,
			    .base_path = options->scratch->base_path,
			    .path = options->scratch->path,
			    .fd = options->scratch->fd},
		.keeper_ready_fd = ends->keeper_ready_pipe[0],
		.argv = options->argv,
		.version_manager_program = options->version_manager_program,
		.workdir_host = options->workdir_host,
		.audit_path = options->audit_path,
		.audit_fd = options->audit_fd,
		.setup_audit_path = options->setup_audit_path,
		.rotate_bytes = options->rotate_bytes,
		.sign_key_path = options->sign_key_path,
		.anchor_path = options->anchor_path,
		.ask = {options->ask.policy, options->ask.dir_fd, options->ask.approver_fd,
			options->ask.can_be_remembered, options->ask.timeout_ns},
		.session = options->session,
		.layers = options->layers,
		.namespaces = namespaces,
		.user = options->user,
		.stdio_is_terminal = options->uses_terminal,
		.overlay = options->overlay,
		.workspace_host = options->workspace_host,
		.copies_workspace = options->copies_workspace,
		.workspace_dirs = options->workspace_dirs,
		.foreign_workspace_dirs = options->foreign_workspace_dirs,
		.stdio_fd = {ends->stdio_fd[0], ends->stdio_fd[1], ends->stdio_fd[2]},
		.control_fd = ends->control_fd,
		.acls_fd = ends->acls_fd,
		.report_fd = keeper->report_fd,
		.sink_kind = options->sink_kind,
		.sink_fd = options->sink_fd,
		.shared_page = keeper->shared_page,
		.cgroup = keeper->cgroup,
		.egress = &keeper->egress,
	};
}

/*
 * Closes all descriptors but those that the supervisor uses. The keeper's end of control_fd is closed, too, so that the
 * supervisor sees EOF when the keeper dies.
 */
static void keeper_close_other_descriptors(const struct keeper *keeper, const struct fork_descriptors *ends,
					   const struct namespaces *namespaces)
{
	const struct keeper_options *options = keeper->options;
	const int own[] = {ends->stdio_fd[0],
			   ends->stdio_fd[1],
			   ends->stdio_fd[2],
			   ends->control_fd,
			   ends->acls_fd,
			   ends->keeper_ready_pipe[0],
			   options->audit_fd,
			   options->sink_fd,
			   options->ask.dir_fd,
			   options->ask.approver_fd,
			   keeper->report_fd,
			   namespaces->start_socket_fd,
			   namespaces->host_root_fd,
			   namespaces->host_pidns_fd,
			   options->scratch->base_fd,
			   options->scratch->fd,
			   options->session ? options->session->listen_fd : -1,
			   options->session ? options->session->holding_client_fd : -1,
			   keeper->egress.control_fd,
			   keeper->egress.dns_fd[0],
			   keeper->egress.dns_fd[1]};
	const size_t count = sizeof(own) / sizeof(own[0]);
	int keep[sizeof(own) / sizeof(own[0]) + CGROUP_FDS_MAX];

	memcpy(keep, own, sizeof(own));
	descriptors_close_all_but(keep, count + cgroup_get_fds(keeper->cgroup, keep + count));
}

static _Noreturn void keeper_run_supervisor(struct keeper *keeper, const struct fork_descriptors *ends,
					    struct namespaces *namespaces)
{
	const struct process_options process = keeper_get_process_options(keeper, ends, namespaces);

	descriptors_detach_stdio(true);
	keeper_close_other_descriptors(keeper, ends, namespaces);
	exit_quickly(process_main(&process)); /* the keeper flushed stdio before the fork */
}

/* Makes the page and the memfd by which the supervisor reports to the keeper. */
static int keeper_make_shared_memory(struct keeper *keeper)
{
	void *page =
		mmap(NULL, sizeof(*keeper->shared_page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		return -errno;
	keeper->shared_page = page;
	keeper->report_fd = memfd_create("callgate-report", MFD_CLOEXEC);
	return keeper->report_fd < 0 ? -errno : 0;
}

/* Creates the pseudoterminal of --tty. On it stdout and stderr are one stream, which is captured as stdout. */
static int keeper_make_terminal(struct keeper *keeper, const struct capture_options *out, int stdio_fd[3])
{
	int error = terminal_open(&keeper->terminal, keeper->options->forwards_output, &stdio_fd[0]), fd = -1;

	for (size_t i = 1; error == 0 && i < 3; i++) {
		stdio_fd[i] = fcntl(stdio_fd[0], F_DUPFD_CLOEXEC, 3);
		error = stdio_fd[i] < 0 ? -errno : 0;
	}
	if (error == 0)
		error = fd = terminal_dup_master(&keeper->terminal);
	if (error < 0)
		return error;
	stdin_relay_init_terminal(&keeper->stdin_relay, STDIN_FILENO, fd);
	fd = terminal_dup_master(&keeper->terminal);
	return fd < 0 ? fd : capture_init_from_fd(&keeper->outcome->out, out, fd);
}

/* Options for capturing one output stream. `name` receives the name of the spill file, which the options borrow. */
static struct capture_options keeper_make_capture_options(const struct keeper_options *options, const char *stream,
						     int forward_fd, uint64_t limit_bytes, char *name, size_t size)
{
	(void)snprintf(name, size, "%s%s%s.%s", options->scratch->id, options->setup_phase_name ? "." : "",
		       options->setup_phase_name ? options->setup_phase_name : "", stream);
	return (struct capture_options){.forward_fd = options->forwards_output ? forward_fd : -1,
					.keeps_in_memory = !options->forwards_output || limit_bytes != CAPTURE_NO_LIMIT,
					.limit_bytes = limit_bytes,
					.spill_dirfd = options->scratch->fd,
					.spill_file_name = name};
}

/* Makes the pipes or the terminal that become the program's stdin, stdout and stderr. */
static int keeper_make_streams(struct keeper *keeper, int stdio_fd[3])
{
	const struct keeper_options *options = keeper->options;
	struct keeper_outcome *outcome = keeper->outcome;
	const struct capture_options out =
		keeper_make_capture_options(options, "stdout", STDOUT_FILENO, options->stdout_limit_bytes,
					    outcome->out_name, sizeof(outcome->out_name));
	const struct capture_options err =
		keeper_make_capture_options(options, "stderr", STDERR_FILENO, options->stderr_limit_bytes,
					    outcome->err_name, sizeof(outcome->err_name));
	int error;

	if (options->uses_terminal) {
		error = keeper_make_terminal(keeper, &out, stdio_fd);
		return error < 0 ? error : capture_init_from_fd(&outcome->err, &err, -1);
	}
	error = stdin_relay_init(&keeper->stdin_relay, options->relays_stdin ? STDIN_FILENO : -1, &stdio_fd[0]);
	if (error == 0)
		error = capture_init(&outcome->out, &out, &stdio_fd[1]);
	if (error == 0)
		error = capture_init(&outcome->err, &err, &stdio_fd[2]);
	return error;
}

/*
 * Creates the directories of redirects, such as of /var/tmp, in the scratch directory. The view creates those that lie
 * deeper.
 */
static void keeper_add_redirect_dirs(const struct keeper_options *options)
{
	size_t count;
	const struct policy_mount *mount = policy_get_mounts(options->policy, &count);

	for (size_t i = 0; i < count; i++) {
		const char *name = mount[i].creates_host_path
					   ? path_get_rest_below(mount[i].host_path, options->scratch->path)
					   : NULL;

		if (name && *name && !strchr(name, '/'))
			scratch_make_dir_if_missing(options->scratch, name);
	}
}

/*
 * Tells scratch which entries the view will make in the directory of the redirect `outer`: when /tmp is redirected and
 * the workdir is in /tmp, the workdir's path below the directory that is shown as /tmp.
 */
static void keeper_remember_entries_in_redirect(const struct keeper_options *options, const struct policy_mount *outer)
{
	const char *dir = outer->creates_host_path
				  ? path_get_rest_below(outer->host_path, options->scratch->path)
				  : NULL;
	size_t count;
	const struct policy_mount *mount = policy_get_mounts(options->policy, &count);

	for (size_t i = 0; dir && *dir && i < count; i++) {
		const char *rest = path_get_rest_below(mount[i].virt, outer->virt);

		if (rest && *rest)
			scratch_remember_view_entry(options->scratch, dir, rest);
	}
}

/* Notes the mount points that redirects need in the scratch directory, to remove them later. */
static void keeper_remember_view_entries(const struct keeper_options *options)
{
	size_t count;
	const struct policy_mount *mount = policy_get_mounts(options->policy, &count);

	for (size_t i = 0; i < count; i++)
		keeper_remember_entries_in_redirect(options, &mount[i]);
}

/* Tells the supervisor that the directories are made, or why not. */
static void keeper_send_prepare_result(const struct fork_descriptors *ends)
{
	/* EPIPE: the supervisor is dead, which the loop handles */
	(void)!write(ends->keeper_ready_pipe[1], &ends->last_prepare_step_result,
		     sizeof(ends->last_prepare_step_result));
}

/*
 * Does slow work while the supervisor starts: creates the scratch directories, computes the policy's digest and makes
 * the key, which the first line of the log needs, and removes what dead runs left. `again`: the work is done, and only
 * the message that the directories exist is sent to another supervisor.
 */
static void keeper_prepare_run(struct keeper *keeper, struct fork_descriptors *ends, bool again)
{
	const struct keeper_options *options = keeper->options;

	if (!again && options->scratch_dirs_are_not_made_yet) {
		ends->last_prepare_step_result = scratch_make_dirs(options->scratch);
		keeper_add_redirect_dirs(options);
		keeper_remember_view_entries(options);
	}
	keeper_send_prepare_result(ends);
	if (again || ends->last_prepare_step_result < 0)
		return;
	ends->last_prepare_step_result = policy_compute_sha256(options->policy);
	if (ends->last_prepare_step_result == 0)
		ends->last_prepare_step_result = evidence_make_signing_key(keeper);
	if (ends->last_prepare_step_result == 0) {
		memcpy(keeper->shared_page->policy_sha256, policy_get_settings(options->policy)->sha256,
		       sizeof(keeper->shared_page->policy_sha256));
		__atomic_store_n(&keeper->shared_page->keeper_fields_are_written, true, __ATOMIC_RELEASE);
	}
	keeper_send_prepare_result(ends);
	if (options->scratch_dirs_are_not_made_yet)
		scratch_remove_old_files(options->scratch);
}

/* A signalfd that is readable when a signal is to end the run. It is not read. Ignored signals do not count. */
static int keeper_open_signalfd_for_run_end(void)
{
	sigset_t ending;

	(void)sigemptyset(&ending);
	(void)sigaddset(&ending, SIGINT);
	(void)sigaddset(&ending, SIGTERM);
	(void)sigaddset(&ending, SIGHUP);
	(void)sigaddset(&ending, SIGQUIT);
	return signalfd(-1, &ending, SFD_CLOEXEC);
}

/* Forks the supervisor into the namespaces that can be created, and again without a namespace that it could not use. */
static int keeper_fork_supervisor(struct keeper *keeper, struct fork_descriptors *ends)
{
	/* -1: signals are noticed only after the fork */
	_cleanup_close_ int end_fd = keeper_open_signalfd_for_run_end();
	struct namespaces namespaces = NAMESPACES_INIT;
	bool again = false;

	namespaces.run_end_signal_fd = end_fd;
	namespaces.time_limit_end_ns = keeper->time_limit_end_ns;
	namespaces.layers = keeper->options->layers;
	if (!cgroup_has_controller(keeper->cgroup, CGROUP_PIDS))
		namespaces.task_limit = policy_get_settings(keeper->options->policy)->limits.pids;
	do {
		if (keeper->has_sched_batch_policy)
			scheduling_set_sched_other(); /* the child would inherit SCHED_BATCH */
		keeper->supervisor_pid = namespaces_fork_supervisor(&namespaces);
		if (keeper->supervisor_pid == 0 && keeper->key)
			signing_wipe_key(keeper->key);
		if (keeper->supervisor_pid == 0)
			keeper_run_supervisor(keeper, ends, &namespaces);
		/* if the intermediate process was killed, no supervisor reads this message */
		if (keeper->supervisor_pid > 0 && !namespaces.intermediate_was_killed)
			keeper_prepare_run(keeper, ends, again);
		again = true;
		keeper->has_sched_batch_policy = scheduling_set_sched_batch();
	} while (keeper->supervisor_pid > 0 &&
		 namespaces_await_supervisor_or_retry(&namespaces, keeper->supervisor_pid, keeper->signal_fd));
	namespaces_release(&namespaces);
	return keeper->supervisor_pid < 0 ? keeper->supervisor_pid : 0;
}

/* Makes all descriptors that the supervisor inherits. */
static int keeper_make_supervisor_descriptors(struct keeper *keeper, struct fork_descriptors *ends)
{
	int pair[2], error = keeper_make_streams(keeper, ends->stdio_fd);

	if (error == 0)
		error = keeper_make_shared_memory(keeper);
	if (error < 0)
		return error;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	ends->control_fd = pair[0];
	keeper->control_fd = pair[1];
	return pipe2(ends->keeper_ready_pipe, O_CLOEXEC) < 0 ? -errno : 0;
}

int keeper_prepare_and_fork(struct keeper *keeper, const char **ret_step)
{
	struct fork_descriptors ends = {
		.stdio_fd = {-1, -1, -1}, .control_fd = -1, .acls_fd = -1, .keeper_ready_pipe = {-1, -1}};
	const int *const opened[] = {&ends.stdio_fd[0],         &ends.stdio_fd[1], &ends.stdio_fd[2],
				     &ends.control_fd,          &ends.acls_fd,     &ends.keeper_ready_pipe[0],
				     &ends.keeper_ready_pipe[1]};
	int error = keeper_make_supervisor_descriptors(keeper, &ends);

	*ret_step = keeper->options->uses_terminal ? "make a terminal for the program (/dev/ptmx, devpts)"
						   : "make the pipes";
	if (error == 0) {
		*ret_step = "fork";
		(void)fflush(NULL);
		ends.acls_fd = keeper_fork_acls_process(keeper);
		error = keeper_fork_supervisor(keeper, &ends);
	}
	if (error == 0) {
		*ret_step = "watch the supervisor";
		keeper->supervisor_pidfd = (int)syscall(SYS_pidfd_open, keeper->supervisor_pid, 0);
		if (keeper->supervisor_pidfd < 0)
			error = -errno;
	}
	for (size_t i = 0; i < sizeof(opened) / sizeof(opened[0]); i++)
		cleanup_close(opened[i]);
	return error;
}
