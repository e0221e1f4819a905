/* Runs the program through the keeper, and reports how the run ended. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/text.h"
#include "cli/host/account.h"
#include "cli/host/home-path.h"
#include "cli/run/metrics.h"
#include "cli/load.h"
#include "cli/run/private.h"
#include "confine/layers.h"
#include "keeper/run.h"
#include "keeper/output.h"
#include "keeper/result.h"
#include "policy/findings.h"
#include "supervisor/report.h"
#include "workspace/fold.h"
#include "workspace/store.h"

#define FDS_NEEDED_BESIDES_VIEW 64        /* descriptors that callgate needs besides those of the view */
#define START_MEMORY_BYTES_MIN (16 << 20) /* with a smaller memory limit some interpreters do not start */
/* Bytes of output that are kept for --json if no limit is set. */
#define JSON_CAPTURED_OUTPUT_BYTES_DEFAULT (UINT64_C(1) << 20)

int run_print_result(const struct run *run, json_t *result)
{
	_cleanup_free_ char *text = NULL;

	if (!run->is_setup_process)
		return cli_print_json("run", json_incref(result));
	text = json_dumps(result, JSON_COMPACT);
	return text && io_write_all(run->result_fd, text, strlen(text)) == 0 ? CLI_EXIT_OK : CLI_EXIT_ERROR;
}

void run_write_end_status(const struct run *run, json_t *result)
{
	int fd = run->options.status_fd;

	if (fd >= 0 && result_write_end_line(fd, result) < 0)
		cli_print_error("run", "--status-fd %d: %s", fd, strerror(errno));
}

int run_write_start_status(struct run *run)
{
	int fd = run->options.status_fd;

	if (fd < 0 || result_write_start_line(fd, run->scratch.id, getpid()) == 0)
		return 0;
	return run_report_refusal(run, "status_fd_failed", "--status-fd %d: cannot write to it", fd);
}

/* Writes the file of --metrics. A failure becomes the result's error: the collector of the file would miss the run. */
static void watch_write_metrics(const struct run *run, json_t *result)
{
	_cleanup_free_ char *text = run->metrics_file.base_name ? metrics_make_text(result, (double)time(NULL)) : NULL;
	char message[512];
	int error;

	if (!run->metrics_file.base_name)
		return;
	error = text ? run_store_end_file(run, CUSTODIAN_METRICS_FILE_DIR, &run->metrics_file, text) : -ENOMEM;
	if (error == 0)
		return;
	(void)snprintf(message, sizeof(message), "--metrics %s: %s", run->options.metrics_path, strerror(-error));
	cli_print_error("run", "%s", message);
	result_set_error(result, "metrics_failed", message);
}

struct writable_places run_collect_writable_places(struct run *run)
{
	return cli_collect_writable_places(&run->options.policy, &run->host, run->program_phase.policy,
					   run->setup_phase.policy);
}

/* Reports a run that does not begin by its result, which it takes. Returns the result's exit status. */
static int watch_report_unstarted(struct run *run, json_t *result, const char *message)
{
	const int exit_code = (int)json_integer_value(json_object_get(result, "exit_code"));

	cli_print_error(run->is_session ? "session create" : "run", "%s", message);
	run_report_workspace(run, true, result); /* the setup may have written to it */
	run_add_findings(run, result);
	watch_write_metrics(run, result);
	if (run->options.json || run->is_setup_process)
		(void)run_print_result(run, result); /* a failure adds nothing: the exit status is an error already */
	if (run->options.status_fd >= 0)
		/* A failure is ignored, because the exit status is an error anyway. */
		(void)result_write_end_line(run->options.status_fd, result);
	json_decref(result);
	return result ? exit_code : CLI_EXIT_ERROR;
}

int run_report_refusal(struct run *run, const char *code, const char *format, ...)
{
	char message[1200];
	va_list arguments;
	json_t *result;

	va_start(arguments, format);
	(void)vsnprintf(message, sizeof(message), format, arguments); /* a longer message is truncated */
	va_end(arguments);
	result = result_make_error(run->scratch.path ? run->scratch.id : NULL, CLI_EXIT_ERROR, code, message);
	if (run->mistakes)
		(void)json_object_set(json_object_get(result, "error"), "mistakes", run->mistakes);
	return watch_report_unstarted(run, result, message);
}

int run_report_inspection(struct run *run, const char *why)
{
	_cleanup_free_ char *text = inspect_make_refusal(why);
	const char *message = text ? text : why;
	json_t *result;

	result = result_make_error(run->scratch.path ? run->scratch.id : NULL, CLI_EXIT_EXEC_REFUSED, "inspect",
				   message);
	if (result)
		(void)json_object_set_new(result, "status", json_string(run_status_get_name(RUN_REFUSED)));
	return watch_report_unstarted(run, result, message);
}

/* Reports that the run is refused because memory ran out. Returns CLI_EXIT_ERROR. */
int run_refuse_no_memory(struct run *run)
{
	return run_report_refusal(run, "out_of_memory", "out of memory");
}

/* Copies the files that match --artifact to the directory of --output. */
static void watch_store_artifacts(struct run *run, json_t *result)
{
	const struct output_options options = {
		.directory_path = run->options.output_dir,
		.directory_fd = run->output_fd,
		.workdir_virt = policy_get_settings(run->program_phase.policy)->workdir,
		.workdir_host = run->workdir,
		.globs = run->options.artifact_globs.item,
		.glob_count = run->options.artifact_globs.count,
		.custodian = &run->custodian,
	};
	struct policy_error error = {""};
	size_t files = 0;

	if (output_store_files(&options, json_object_get(result, "changes"), &files, &error) < 0) {
		cli_print_error("run", "%s", error.text);
		result_set_error(result, "output_failed", error.text);
	} else if (run->options.is_verbose) {
		cli_note("callgate: kept %zu files in %s", files, run->options.output_dir);
	}
}

/* Prints that output was cut or lost. Lost output becomes an error of the result. */
static void watch_report_stream(struct run *run, json_t *result, const char *name, const struct capture *capture)
{
	const char *path;
	char message[256], key[32];

	(void)snprintf(key, sizeof(key), "%s_path", name);
	path = json_string_value(json_object_get(result, key));
	if (capture->is_truncated && !run->options.is_quiet && !run->options.json)
		cli_note("callgate: %s passed its limit; %s%s", name,
			 path ? "all of it is in " : "the rest could not be kept", path ? path : "");
	if (capture->forward_error == 0 || capture->reader_is_gone)
		return;
	(void)snprintf(message, sizeof(message), "%s could not be written (%s): a part of the program's output is lost",
		       name, strerror(capture->forward_error));
	cli_print_error("run", "%s", message);
	result_set_error(result, "output_failed", message);
}

/* Whether the program was sent a signal that asked it to end, did not end in time, and was killed. */
static bool watch_was_killed_after_sigterm(const json_t *result)
{
	const json_t *termination = json_object_get(result, "termination");

	return json_is_true(json_object_get(termination, "killed")) &&
	       json_is_integer(json_object_get(termination, "sent"));
}

#define WATCH_AMOUNT_SIZE 32 /* of a text of watch_format_limit_amount(); at least TEXT_SIZE_SIZE */

/* Formats a limit, or an amount used, as the command line writes it: "512M", "1.5 s", "64". */
static void watch_format_limit_amount(char text[WATCH_AMOUNT_SIZE], const char *name, const json_t *amount)
{
	static const char *const counts[] = {"pids", "open_files"};
	json_int_t value = json_integer_value(amount);

	if (strcmp(name, "cpu") == 0) {
		(void)snprintf(text, WATCH_AMOUNT_SIZE, "%g s", (double)value / 1000);
		return;
	}
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		if (strcmp(name, counts[i]) == 0) {
			(void)snprintf(text, WATCH_AMOUNT_SIZE, "%" JSON_INTEGER_FORMAT, value);
			return;
		}
	text_format_size((uint64_t)value, text);
}

/*
 * The path of a call that was refused because the file would have been too large for the limit, such as the copy that
 * --cow makes before a file is changed. Borrowed, escaped as in the result; NULL: there is none in the list.
 */
static const char *watch_find_refused_by_disk_limit(const json_t *result)
{
	const json_t *denial;
	size_t i;

	json_array_foreach(json_object_get(result, "denials"), i, denial)
	{
		const char *reason = json_string_value(json_object_get(denial, "reason"));

		if (reason && strcmp(reason, "disk_limit") == 0)
			return json_string_value(json_object_get(denial, "resolved"));
	}
	return NULL;
}

/* Prints that the run reached a limit, and how much it used. */
static void watch_report_limit_reached(const json_t *result, const char *name, const json_t *meter)
{
	const char *refused = strcmp(name, "disk") == 0 ? watch_find_refused_by_disk_limit(result) : NULL;
	const json_t *used = json_object_get(meter, "peak"), *most = json_object_get(meter, "limit");
	char limit[WATCH_AMOUNT_SIZE], amount[WATCH_AMOUNT_SIZE] = "";

	watch_format_limit_amount(limit, name, most);
	if (json_is_integer(used))
		watch_format_limit_amount(amount, name, used);
	cli_print_error("run", "the run reached its limit: %s %s%s%s%s%s%s", name, limit, amount[0] ? ", used " : "",
			amount, refused ? "; there was no room for " : "", refused ? refused : "",
			strcmp(name, "memory") == 0 && json_integer_value(most) < START_MEMORY_BYTES_MIN
				? "; that is too small for most programs to start: use a larger -m"
				: "");
}

/* Prints a note if the kernel is an old one that lacks something. */
static void watch_report_old_kernel(const struct run *run)
{
	struct utsname kernel;
	char text[128];

	if (run->options.events != SUMMARY_NO_EVENTS && uname(&kernel) == 0 &&
	    layers_describe_old_kernel(kernel.release, text, sizeof(text)))
		cli_note("callgate: %s; \"callgate doctor\" names them", text);
}

/* Prints which limit ended the run, because a reader of stderr otherwise only sees a program that stopped. */
static void watch_report_limit(const json_t *result)
{
	const char *status = json_string_value(json_object_get(result, "status")), *name;
	json_t *limits = json_object_get(result, "limits"), *meter;

	if (!status) /* the result lacks it, because memory ran out: nothing to report */
		return;
	if (strcmp(status, "timeout") == 0) {
		meter = json_object_get(json_object_get(limits, "wall"), "limit");
		cli_print_error("run", "the run was ended by its time limit of %g s%s",
				(double)json_integer_value(meter) / 1000,
				watch_was_killed_after_sigterm(result)
					? "; the program had not ended after SIGTERM and was killed"
					: "");
		return;
	}
	if (strcmp(status, "killed") == 0 && watch_was_killed_after_sigterm(result))
		cli_print_error("run", "the program had not ended after signal %d and was killed (--kill-after)",
				(int)json_integer_value(json_object_get(result, "signal")));
	if (strcmp(status, "limit") != 0)
		return;
	json_object_foreach(limits, name, meter)
		/* watch_report_stream() reports stdout and stderr. */
		if (json_is_true(json_object_get(meter, "hit")) && strncmp(name, "std", 3) != 0)
			watch_report_limit_reached(result, name, meter);
}

/* Reports what the log of the run lacks: a rotation, or checkpoints. */
static void watch_report_log(const struct run *run, const json_t *result)
{
	const json_t *audit = json_object_get(result, "audit"), *anchor = json_object_get(audit, "anchor");
	const char *rotation = json_string_value(json_object_get(audit, "rotation_error"));
	const char *error = json_string_value(json_object_get(anchor, "error"));

	if (rotation)
		cli_print_error("run",
				"--audit-rotate: the log could not go on in another file (%s), and is in a "
				"larger one than wanted",
				rotation);
	if (error)
		cli_print_error("run",
				"--anchor %s: %" JSON_INTEGER_FORMAT " checkpoints are missing, the last one "
				"because of %s",
				run->options.anchor_place, json_integer_value(json_object_get(anchor, "skipped")),
				error);
}

/* Adds a hint to the message of an error if the limit of descriptors is low: the view takes one for each mount. */
static void watch_add_fd_hint(const struct run *run, char *message, size_t size)
{
	size_t mounts = 0, len = strlen(message);
	struct rlimit limit;

	(void)policy_get_mounts(run->program_phase.policy, &mounts);
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_max < mounts + FDS_NEEDED_BESIDES_VIEW)
		(void)snprintf(message + len, size - len, "; ulimit -n is %llu, this policy may need %zu",
			       (unsigned long long)limit.rlim_max, mounts + FDS_NEEDED_BESIDES_VIEW);
}

/*
 * Reports why nothing was run or, after exit status 127 ("command not found"), what the run may have lacked. If the
 * user's PATH has the program in the home directory, the message names it with the options that grant it.
 */
static void watch_report_error(const struct run *run, json_t *result, const struct keeper_outcome *outcome)
{
	const bool missing = json_integer_value(json_object_get(result, "exit_code")) == CLI_EXIT_PROGRAM_NOT_FOUND;
	const char *program = run->options.argv[0];
	_cleanup_free_ char *advice = NULL, *message = NULL;

	if (missing && (!outcome->error_code || !strchr(program, '/')))
		advice = home_path_make_advice(run->program_phase.policy, run->path_variable_at_start,
					       run->host.policy.home, outcome->error_code ? program : NULL);
	if (!outcome->error_code) {
		if (advice && run->options.events != SUMMARY_NO_EVENTS)
			cli_note("callgate: %s", advice);
		return;
	}
	message = advice ? text_format("%s; %s", outcome->error_message, advice) : NULL;
	cli_print_error("run", "%s", message ? message : outcome->error_message);
	if (message)
		(void)json_object_set_new(json_object_get(result, "error"), "message", json_string(message));
}

/* Makes the result of a run, and reports it in all the ways that the options ask for. Returns the exit status. */
static int watch_report_end(struct run *run, const struct keeper_options *keeper, struct keeper_outcome *outcome)
{
	_cleanup_json_ json_t *result = NULL;
	int exit_code;

	if (outcome->error_code && outcome->ending.exit_code == CLI_EXIT_ERROR)
		watch_add_fd_hint(run, outcome->error_message, sizeof(outcome->error_message));
	result = result_make_json(keeper, outcome);
	watch_report_error(run, result, outcome);
	run_report_workspace(run, outcome->error_code || outcome->program_was_not_started, result);
	run_add_findings(run, result);
	if (!run->options.is_quiet) {
		watch_report_limit(result);
		watch_report_log(run, result);
	}
	watch_report_stream(run, result, "stdout", &outcome->out);
	watch_report_stream(run, result, "stderr", &outcome->err);
	if (run->output_fd >= 0 && outcome->report)
		watch_store_artifacts(run, result);
	if (run->setup_result)
		(void)json_object_set(result, "setup", run->setup_result);
	run_write_attestation(run, outcome, result);
	watch_write_metrics(run, result);
	exit_code = (int)json_integer_value(json_object_get(result, "exit_code"));
	if ((run->options.json || run->is_setup_process) && run_print_result(run, result) != CLI_EXIT_OK)
		exit_code = CLI_EXIT_ERROR;
	if (run->is_setup_process && !run->options.json && run->options.events != SUMMARY_NO_EVENTS &&
	    json_array_size(json_object_get(result, "denials")) > 0)
		cli_note("callgate: denied to the setup:");
	if (!run->options.json) {
		watch_report_old_kernel(run);
		summary_print_result(stderr, result, run->options.events);
	}
	run_write_end_status(run, result);
	return exit_code;
}

/*
 * Returns the limit for output kept in memory. With --json there is always a limit, otherwise only if the user set one.
 */
static uint64_t watch_get_capture_limit(const struct run *run, uint64_t limit)
{
	return limit ? limit : run->options.json ? JSON_CAPTURED_OUTPUT_BYTES_DEFAULT : CAPTURE_NO_LIMIT;
}

/* Whether to show a status line. Without --status it is shown only with --json, or if stdout is no terminal. */
static bool watch_needs_status_line(const struct run_options *options)
{
	const char *term = getenv("TERM");

	/* On a terminal where questions are shown, the line would be drawn over them. */
	return !options->is_quiet && !options->tty && (!options->approve || strcmp(options->approve, "tty") != 0) &&
	       isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0 &&
	       (options->shows_status_line || options->json || !isatty(STDOUT_FILENO));
}

/* What the keeper is to do. */
static struct keeper_options watch_make_keeper_options(struct run *run)
{
	const struct policy_limits *limits = &policy_get_settings(run->program_phase.policy)->limits;
	const struct run_options *options = &run->options;

	return (struct keeper_options){
		.policy = run->program_phase.policy,
		.scratch = &run->scratch,
		.scratch_dirs_are_not_made_yet = run->scratch_dirs_are_not_made_yet,
		.argv = options->argv,
		.version_manager_program = run->is_setup_process ? NULL : cli_host_find_program(&run->host),
		.workdir_host = run->workdir,
		.audit_path = run->program_phase.log_path,
		.audit_fd = run->program_phase.audit_fd,
		.setup_audit_path = run->setup_phase.log_path,
		.rotate_bytes = options->rotate_bytes,
		.sign_key_fd = run->sign_key_fd,
		.anchor_fd = run->is_setup_process ? -1 : run->anchor_fd,
		.anchor_path = run->anchor_path,
		.anchor_every_lines = options->anchor_every_lines,
		.anchor_every_ns = options->anchor_every_ns,
		.sign_key_path = run->sign_key_path,
		.sink_kind = run->sink_kind,
		.sink_fd = run->system_log_fd,
		.ask = {run->is_setup_process ? NULL : run->ask.policy, run->is_setup_process ? -1 : run->ask.dir_fd,
			run->is_setup_process ? -1 : run->ask.approver_fd, run->ask.can_be_remembered,
			options->ask_timeout_ns},
		.setup_phase_name = run->is_setup_process ? "setup" : NULL,
		.session = run->session,
		.layers = run->layers,
		.egress_data_from_host = options->setup_command ? &run->program_phase.egress_data_from_host : NULL,
		.user = run->user,
		.custodian = &run->custodian,
		.forwards_output = !options->json,
		.relays_stdin = options->reads_stdin,
		.keeps_output_files = run->output_fd >= 0,
		.uses_terminal = options->tty,
		.overlay = options->is_dry_run                                     ? VIEW_OVERLAY_ALL
			   : run->workspace_dirs.count > 0                         ? VIEW_OVERLAY_WORKSPACE
			   : options->observes && !options->writes_outside_workdir ? VIEW_OVERLAY_OUTSIDE_WORKDIR
										   : VIEW_OVERLAY_NONE,
		.workspace_host = run->workspace_path,
		.copies_workspace = options->copies_workspace,
		.workspace_dirs = (const char *const *)run->workspace_dirs.item,
		.foreign_workspace_dirs = run->foreign_workspace_dirs,
		.parent_pid = options->dies_with_parent ? run->parent : 0,
		.shows_status_line = watch_needs_status_line(options),
		.stdout_is_terminal_too = options->shows_status_line && isatty(STDOUT_FILENO),
		.status_fd = options->status_fd,
		.status_every_ns = options->status_every_ns,
		.time_limit_ns = limits->wall_ns,
		.grace_ns = options->grace_ns,
		.kill_after_ns = options->kill_after_ns,
		.stdout_limit_bytes = watch_get_capture_limit(run, limits->stdout_bytes),
		.stderr_limit_bytes = watch_get_capture_limit(run, limits->stderr_bytes),
	};
}

int run_program_to_end(struct run *run)
{
	struct keeper_outcome outcome;
	struct keeper_options keeper;
	int exit_code;

	account_end_lookups(); /* loading the policy again after a setup may have started the process */
	run->layers = layers_create(run->options.policy.switched_off_layers,
				    policy_get_settings(run->program_phase.policy)->required_layers);
	if (!run->layers)
		return run_refuse_no_memory(run);
	keeper = watch_make_keeper_options(run);
	/* after a setup, run_perform_setup() has written this line already */
	if (!run->setup_result && run_write_start_status(run) != 0)
		return CLI_EXIT_ERROR;
	if (keeper_run_program(&keeper, &outcome) < 0) {
		watch_add_fd_hint(run, outcome.error_message, sizeof(outcome.error_message));
		exit_code = run_report_refusal(run, "setup_failed", "%s", outcome.error_message);
	} else {
		exit_code = watch_report_end(run, &keeper, &outcome);
	}
	keeper_outcome_release(&outcome);
	return exit_code;
}
