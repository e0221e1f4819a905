#include "supervisor/process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "audit/audit.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "supervisor/environment.h"
#include "supervisor/filter.h"
#include "supervisor/lookup.h"
#include "supervisor/privs.h"
#include "supervisor/report.h"
#include "supervisor/status.h"
#include "supervisor/supervise.h"

#include "base/banned.h"

/* Everything the process builds, in one place so that one function releases it. */
struct process {
	const struct process_options *options;
	struct rlimit open_files; /* the caller's, for the program */
	char **envp;
	char **argv; /* the list only; its texts are borrowed */
	char program[PATH_MAX];
	enum lookup_result found;
	struct sock_fprog filter;
	struct view *view;
	struct audit *audit;
	struct supervise_report report;
	json_t *result; /* the report or the error */
};

static void process_done(struct process *process)
{
	supervise_report_done(&process->report);
	view_free(process->view);
	free(process->filter.filter);
	environment_free(process->envp);
	free(process->argv);
	json_decref(process->result);
}

/* What is in the report already stays. */
static void set_error(struct process *process, int exit_code, const char *code, const char *message)
{
	if (!process->result)
		process->result = json_object();
	(void)json_object_set_new(process->result, "exit_code", json_integer(exit_code));
	(void)json_object_set_new(process->result, "error",
				  json_pack("{s:s, s:o}", "code", code, "message", report_text(message)));
}

__attribute__((format(printf, 4, 5))) static int fail(struct process *process, int exit_code, const char *code,
						      const char *format, ...)
{
	char message[1200];
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(message, sizeof(message), format, arguments); /* a longer one is cut */
	va_end(arguments);
	set_error(process, exit_code, code, message);
	return -1;
}

/* Terminal signals reach the whole foreground process group: they are the keeper's to act on. */
static void leave_terminal(void)
{
	static const int ignored[] = {SIGINT, SIGQUIT, SIGHUP, SIGTSTP, SIGTTOU, SIGPIPE};
	sigset_t none;

	/* A session of its own, so that a tty device it opens for the program is not the terminal callgate was started on. */
	(void)setsid(); /* fails for a group leader only, which a forked child is not */
	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		(void)signal(ignored[i], SIG_IGN);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

static int give_up(struct process *process)
{
	struct rlimit limit;
	int error;

	leave_terminal();
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return fail(process, RUN_EXIT_ERROR, "setup_failed", "cannot read the open files limit: %s",
			    strerror(errno));
	process->open_files = limit;
	limit.rlim_cur = limit.rlim_max; /* a thousand blocked opens are a thousand descriptors of ours */
	(void)setrlimit(RLIMIT_NOFILE, &limit);
	error = prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0 ? -errno : privs_drop();
	if (error == 0 && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		error = -errno;
	if (error < 0)
		return fail(process, RUN_EXIT_ERROR, "setup_failed", "the supervisor cannot give up its privileges: %s",
			    strerror(-error));
	process->envp = environment_build(process->options->policy);
	if (!process->envp)
		return fail(process, RUN_EXIT_ERROR, "out_of_memory", "no memory for the environment");
	environment_scrub();
	return 0;
}

static int build_view(struct process *process)
{
	const struct process_options *options = process->options;
	const struct view_options view_options = {.scratch_fd = options->scratch->fd,
						  .scratch_host = options->scratch->path,
						  .scratch_base = options->scratch->base,
						  .workdir_host = options->workdir_host};
	struct policy_error error = {""};
	int ret = view_create(options->policy, &view_options, &process->view, &error);

	if (ret < 0)
		return fail(process, RUN_EXIT_ERROR, "view_failed", "%s",
			    error.text[0] ? error.text : "cannot build the program's view of the file system");
	return 0;
}

/* What a shim stands for is started under its own path, as the shim would: python finds its prefix by argv[0]. */
static int copy_argv(struct process *process)
{
	const struct process_options *options = process->options;
	size_t count = 0;

	while (options->argv[count])
		count++;
	process->argv = calloc(count + 1, sizeof(*process->argv));
	if (!process->argv)
		return fail(process, RUN_EXIT_ERROR, "out_of_memory", "no memory for the arguments");
	memcpy(process->argv, options->argv, count * sizeof(*process->argv));
	if (options->preferred && strcmp(process->program, options->preferred) == 0)
		process->argv[0] = process->program;
	return 0;
}

/* A bare name that is nowhere ends here; a refused path is tried, so that the refusal is judged and on record. */
static int find_program(struct process *process)
{
	const struct process_options *options = process->options;
	const struct lookup_options lookup = {.policy = options->policy,
					      .view = process->view,
					      .name = options->argv[0],
					      .path_env = environment_get(process->envp, "PATH"),
					      .preferred = options->preferred};

	process->found = lookup_program(&lookup, process->program);
	if (process->found == LOOKUP_MISSING)
		return fail(process, RUN_EXIT_NOT_FOUND, "not_found", "%s: not found%s%s", options->argv[0],
			    strchr(options->argv[0], '/') ? "" : " in PATH ",
			    strchr(options->argv[0], '/') ? ""
			    : lookup.path_env             ? lookup.path_env
							  : "(unset)");
	return copy_argv(process);
}

/* A log that the program may write proves nothing: by a grant of its directory, or of its own name (a file, a glob). */
static int check_audit_place(struct process *process, const char *path)
{
	_cleanup_free_ char *copy = strdup(path), *real = NULL;
	char *slash = copy ? strrchr(copy, '/') : NULL, virt[PATH_MAX + NAME_MAX + 2];
	const struct policy *policy = process->options->policy;
	const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	int len, whole;

	if (!copy)
		return fail(process, RUN_EXIT_ERROR, "out_of_memory", "no memory for the log's path");
	if (slash)
		slash[slash == copy ? 1 : 0] = '\0';
	real = realpath(slash ? copy : ".", NULL);
	if (!real)
		return fail(process, RUN_EXIT_ERROR, "audit_failed", "cannot write the log %s: %s", path,
			    strerror(errno));
	len = view_name(process->view, real, strlen(real), virt, PATH_MAX);
	if (len < 0)
		return 0;
	whole = len + snprintf(virt + len, sizeof(virt) - (size_t)len, "%s%s", len > 1 ? "/" : "", name);
	if (whole >= (int)sizeof(virt))
		return fail(process, RUN_EXIT_ERROR, "audit_failed", "cannot write the log %s: %s", path,
			    strerror(ENAMETOOLONG));
	if ((policy_rights(policy, virt, (size_t)len) | policy_rights(policy, virt, (size_t)whole)) & POLICY_WRITE)
		return fail(process, RUN_EXIT_ERROR, "audit_failed",
			    "the log %s could be written by the program, as %s; choose a place outside", path, virt);
	return 0;
}

static int open_audit(struct process *process)
{
	const struct process_options *options = process->options;
	const struct audit_header header = {.run_id = options->scratch->id,
					    .argv = (const char *const *)options->argv,
					    .policy_name = policy_name(options->policy),
					    .policy_sha256 = policy_sha256(options->policy),
					    .workdir = policy_workdir(options->policy),
					    .layers_json = options->layers_json,
					    .record_allowed = policy_audit_allowed(options->policy)};
	int error;

	if (options->audit_path && check_audit_place(process, options->audit_path) < 0)
		return -1;
	error = audit_open(options->audit_path, &header, &process->audit);
	if (error == -EEXIST)
		return fail(process, RUN_EXIT_ERROR, "audit_failed",
			    "the log %s exists; remove it or name another file", options->audit_path);
	if (error < 0)
		return fail(process, RUN_EXIT_ERROR, "audit_failed", "cannot write the log %s: %s",
			    options->audit_path ? options->audit_path : "in memory", strerror(-error));
	return 0;
}

/* The report stays: the refusal is among its denials. */
static void explain_start(struct process *process)
{
	struct run_refusal refusal;

	run_refusal(&process->report, process->program, &refusal);
	set_error(process, refusal.exit_code, refusal.code, refusal.message);
}

static int watch(struct process *process)
{
	const struct process_options *options = process->options;
	struct supervise_options supervision = {
		.launch = {.program = process->program,
			   .argv = process->argv,
			   .envp = process->envp,
			   .cwd_host = options->workdir_host,
			   .stdio_fd = {options->stdio_fd[0], options->stdio_fd[1], options->stdio_fd[2]},
			   .filter = &process->filter,
			   .open_files = process->open_files},
		.policy = options->policy,
		.view = process->view,
		.audit = process->audit,
		.counters = options->counters,
		.control_fd = options->control_fd,
	};
	int error = filter_build(&process->filter);

	if (error < 0)
		return fail(process, RUN_EXIT_ERROR, "filter_failed", "cannot build the seccomp filter: %s",
			    strerror(-error));
	error = supervise(&supervision, &process->report);
	if (error < 0)
		return fail(process, RUN_EXIT_ERROR, "supervisor_failed", "supervision failed: %s", strerror(-error));
	process->result = report_json(&process->report, process->view);
	if (!process->result)
		return fail(process, RUN_EXIT_ERROR, "out_of_memory", "no memory for the result");
	if (process->report.start_error)
		explain_start(process);
	return 0;
}

/*
 * What the keeper has written to the control pipe by now; when it is dead nothing can be read, which is a SIGKILL to
 * it.
 */
static unsigned read_end(int control_fd)
{
	struct pollfd control = {.fd = control_fd, .events = POLLIN};
	unsigned char end = SIGKILL;

	if (poll(&control, 1, 0) <= 0)
		return RUN_END_NONE;
	return read(control_fd, &end, 1) < 0 ? RUN_END_NONE : end;
}

static void close_audit(struct process *process)
{
	const struct supervise_report *report = &process->report;
	struct run_ending ending =
		run_ending(read_end(process->options->control_fd), report->wait_status, report->denied > 0);
	json_t *exit_code = json_object_get(process->result, "exit_code");
	uint64_t records = audit_records(process->audit);
	struct audit_trailer trailer;
	int error;

	if (audit_error(process->audit) < 0) {
		(void)fail(process, RUN_EXIT_ERROR, "audit_failed",
			   "the log could not be written (%s): calls that could not be recorded were refused",
			   strerror(-audit_error(process->audit)));
		exit_code = json_object_get(process->result, "exit_code");
	}
	if (exit_code) {
		ending.exit_code = (int)json_integer_value(exit_code);
		ending.status = ending.exit_code == RUN_EXIT_REFUSED ? RUN_DENIED : RUN_ERROR;
	}
	trailer = (struct audit_trailer){.status = run_status_name(ending.status),
					 .exit_code = ending.exit_code,
					 .signal = ending.signal,
					 .judged = report->judged,
					 .allowed = report->allowed,
					 .denied = report->denied};
	error = audit_close(process->audit, &trailer);
	process->audit = NULL;
	if (error < 0)
		(void)fail(process, RUN_EXIT_ERROR, "audit_failed", "the log could not be completed: %s",
			   strerror(-error));
	(void)json_object_set_new(process->result, "records", json_integer((json_int_t)records));
}

static int send_report(const struct process *process)
{
	_cleanup_free_ char *text = process->result ? json_dumps(process->result, JSON_COMPACT) : NULL;

	return text && io_write_full(process->options->report_fd, text, strlen(text)) == 0 ? 0 : 1;
}

int process_main(const struct process_options *options)
{
	struct process process = {.options = options};
	int status;

	if (give_up(&process) == 0 && build_view(&process) == 0 && find_program(&process) == 0 &&
	    open_audit(&process) == 0)
		(void)watch(&process); /* the error is in the result */
	if (process.audit)
		close_audit(&process);
	status = send_report(&process);
	process_done(&process);
	return status;
}
