/* The log of a run: checks its path, makes it, completes it. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit/audit.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/text.h"
#include "supervisor/process-private.h"

/* Sets the error that the log cannot be written. */
static int process_fail_log_write(struct process *process, const char *path, int error)
{
	return process_fail(process, "audit_failed", "cannot write the log %s: %s", path, strerror(error));
}

/* Refuses a log that the program could write by a grant of the log's directory or name. */
static int process_fail_if_log_granted(struct process *process, const char *path)
{
	_cleanup_free_ char *copy = strdup(path), *real = NULL;
	char *slash = copy ? strrchr(copy, '/') : NULL, virt[PATH_MAX + NAME_MAX + 2];
	const struct policy *policy = process->options->policy;
	const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	int len, whole;

	if (!copy)
		return process_fail(process, "out_of_memory", "no memory for the log's path");
	if (slash)
		slash[slash == copy ? 1 : 0] = '\0';
	/* With --user, that user may be unable to resolve the path of a log that the keeper has made already. */
	real = process->options->audit_fd >= 0 && slash ? strdup(copy) : realpath(slash ? copy : ".", NULL);
	if (!real)
		return process_fail_log_write(process, path, errno);
	len = view_find_virtual_path(process->view, real, strlen(real), virt, PATH_MAX);
	if (len < 0)
		return 0;
	whole = len + snprintf(virt + len, sizeof(virt) - (size_t)len, "%s%s", len > 1 ? "/" : "", name);
	if (whole >= (int)sizeof(virt))
		return process_fail_log_write(process, path, ENAMETOOLONG);
	/* An observing policy lets every directory be written, but not this name: policy_observe.hidden. */
	if (policy_is_observing(policy))
		len = whole;
	if ((policy_get_rights(policy, virt, (size_t)len) | policy_get_rights(policy, virt, (size_t)whole)) &
	    POLICY_WRITE)
		return process_fail(process, "audit_failed",
				    "the log %s could be written by the program, as %s; choose a place outside", path,
				    virt);
	return 0;
}

/* Refuses a key that the program could read or write. */
static int process_fail_if_signing_key_granted(struct process *process, const char *path)
{
	char virt[PATH_MAX];
	int len = view_find_virtual_path(process->view, path, strlen(path), virt, sizeof(virt));

	if (len < 0 || (policy_is_observing(process->options->policy) ? 0
			: policy_get_rights(process->options->policy, virt, (size_t)len)) == 0)
		return 0;
	return process_fail(process, "audit_failed",
			    "the key %s is in the program's reach, as %s; choose a place that no rule grants", path,
			    virt);
}

int process_open_log_dir(struct process *process)
{
	const struct process_options *options = process->options;
	_cleanup_free_ char *copy = NULL;
	const char *slash;

	if (options->sign_key_path && process_fail_if_signing_key_granted(process, options->sign_key_path) < 0)
		return -1;
	if (options->anchor_path && process_fail_if_log_granted(process, options->anchor_path) < 0)
		return -1;
	if (options->setup_audit_path && process_fail_if_log_granted(process, options->setup_audit_path) < 0)
		return -1;
	if (options->audit_path && process_fail_if_log_granted(process, options->audit_path) < 0)
		return -1;
	if (!options->audit_path || options->audit_fd >= 0)
		return 0;
	slash = strrchr(options->audit_path, '/');
	copy = slash ? strndup(options->audit_path, (size_t)(slash - options->audit_path) + 1) : strdup("./");
	process->audit_dirfd = copy ? io_open_without_links(copy, O_PATH | O_DIRECTORY) : -ENOMEM;
	if (process->audit_dirfd < 0)
		return process_fail_log_write(process, options->audit_path, -process->audit_dirfd);
	process->audit_file_name =
		text_format("/proc/self/fd/%d/%s", process->audit_dirfd, slash ? slash + 1 : options->audit_path);
	if (!process->audit_file_name)
		return process_fail_log_write(process, options->audit_path, errno);
	return 0;
}

/* Begins the audit log with its header. */
static int process_make_log(struct process *process)
{
	const struct process_options *options = process->options;
	json_t *enforcement = layers_make_json(options->layers);
	_cleanup_free_ char *layers = json_dumps(enforcement, JSON_COMPACT); /* NULL, without memory: not in the log */
	const struct audit_header header = {
		.run_id = options->scratch.run_id,
		.argv = (const char *const *)options->argv,
		.policy_name = policy_get_settings(options->policy)->name,
		.policy_sha256 = options->shared_page->policy_sha256,
		.workdir = policy_get_settings(options->policy)->workdir,
		.layers_json = layers,
		.records_allowed_calls = policy_get_settings(options->policy)->audits_allowed_calls,
		.lacks_records_of_reads = process->kernel_reads,
		.compact = policy_get_settings(options->policy)->audit_is_compact,
		.key = options->shared_page->audit_public_key_text[0] ? options->shared_page->audit_public_key_text
								      : NULL,
		.rotate_bytes = options->rotate_bytes,
		.progress = &options->shared_page->progress,
		.ret_file = &options->shared_page->audit_file};
	int error;

	json_decref(enforcement);
	error = options->audit_fd >= 0 ? fcntl(options->audit_fd, F_DUPFD_CLOEXEC, 3) : 0;
	if (options->audit_fd >= 0)
		error = error < 0 ? -errno : audit_start_log(error, &header, &process->audit);
	else
		error = audit_open_log(process->audit_file_name, &header, &process->audit);
	if (error == -EEXIST)
		return process_fail(process, "audit_failed", "the log %s exists; remove it or name another file",
				    options->audit_path);
	if (error < 0)
		return process_fail_log_write(process, options->audit_path ? options->audit_path : "in memory", -error);
	return 0;
}

int process_open_log(struct process *process)
{
	process_decide_native_fstat(process);
	return process_make_log(process);
}

/* The byte that ended the run: the report's `end`, or a byte that the keeper has written since. */
static unsigned process_read_run_end_byte(const struct process *process)
{
	struct pollfd control = {.fd = process->options->control_fd, .events = POLLIN};
	unsigned end = process->report.end_reason;

	while (end == RUN_END_NOT_ORDERED && poll(&control, 1, 0) > 0) {
		end = supervise_read_keeper_order(control.fd);
		if (end == SIGTSTP || end == SIGCONT || (end >= RUN_BYTE_ASK_TO_END && end < RUN_END_OUTPUT_LIMIT))
			end = RUN_END_NOT_ORDERED; /* an order to the program, which has ended: no effect */
	}
	return end;
}

void process_close_log(struct process *process)
{
	const struct supervise_report *report = &process->report;
	struct run_ending ending = run_ending_make(
		process_read_run_end_byte(process), report->asked_to_end_reason, report->ended_by, report->wait_status,
		report->calls.denied > report->calls.refused_probe_count || report->network.denied_count > 0);
	json_t *exit_code = json_object_get(process->result, "exit_code");
	uint64_t records = audit_count_records(process->audit);
	struct audit_trailer trailer;
	int error;

	if (audit_get_error(process->audit) < 0) {
		(void)process_fail(process, "audit_failed",
				   "the log could not be written (%s): calls that could not be recorded were refused",
				   strerror(-audit_get_error(process->audit)));
		exit_code = json_object_get(process->result, "exit_code");
	}
	if (exit_code) {
		ending.exit_code = (int)json_integer_value(exit_code);
		ending.status = ending.exit_code == RUN_EXIT_REFUSED ? RUN_DENIED : RUN_ERROR;
	}
	if (audit_get_rotation_error(process->audit) < 0)
		(void)json_object_set_new(process->result, "rotation_error",
					  json_string(strerrorname_np(-audit_get_rotation_error(process->audit))));
	trailer = (struct audit_trailer){.status = run_status_get_name(ending.status), .exit_code = ending.exit_code,
					 .signal = ending.signal, .judged = report->calls.judged,
					 .allowed = report->calls.allowed - report->calls.observed_denial_count,
					 .denied = report->calls.denied + report->calls.observed_denial_count};
	error = audit_close(process->audit, &trailer);
	process->audit = NULL;
	if (error < 0)
		(void)process_fail(process, "audit_failed", "the log could not be completed: %s",
				   strerror(-error));
	(void)json_object_set_new(process->result, "records", json_integer((json_int_t)records));
}
