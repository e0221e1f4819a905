/* callgate run: from the command line to the exit status. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/cli.h"
#include "cli/host.h"
#include "cli/run-options.h"
#include "supervisor/input.h"
#include "supervisor/keeper.h"
#include "supervisor/output.h"
#include "supervisor/result.h"

#include "base/banned.h"

#define JSON_OUTPUT_BYTES (UINT64_C(1) << 20) /* kept for --json when neither policy nor --output-limit says */

/* One run's things, so that each is released whatever failed. */
struct run {
	struct run_options options;
	struct cli_host host;
	bool host_ready;
	struct scratch scratch;
	bool scratch_ready;
	struct policy *policy;
	char *workdir; /* host path */
	int output_fd;
	char *layers;
};

static void run_done(struct run *run)
{
	int error = 0;

	policy_free(run->policy);
	if (run->scratch_ready) {
		/* removing frees it */
		_cleanup_free_ char *path = run->scratch.path ? strdup(run->scratch.path) : NULL;

		error = scratch_remove(&run->scratch);
		if (error < 0)
			cli_error("run",
				  "could not remove the run's scratch directory %s: %s; the next run tries again",
				  path ? path : "", strerror(-error));
	}
	if (run->host_ready)
		cli_host_done(&run->host);
	cleanup_close(&run->output_fd);
	free(run->workdir);
	free(run->layers);
	run_options_done(&run->options);
}

static int print_json(const json_t *json)
{
	_cleanup_free_ char *text = json ? json_dumps(json, JSON_INDENT(2)) : NULL;
	_cleanup_free_ char *line = NULL;

	if (!text || asprintf(&line, "%s\n", text) < 0) {
		line = NULL;
		cli_error("run", "no memory for the result");
		return CLI_ERROR;
	}
	return cli_print("run", line);
}

/* The end of a run that never began: one message, or one result. Returns the exit status. */
__attribute__((format(printf, 3, 4))) static int refuse(struct run *run, const char *code, const char *format, ...)
{
	char message[1200];
	va_list arguments;
	json_t *result;

	va_start(arguments, format);
	(void)vsnprintf(message, sizeof(message), format, arguments); /* a longer one is cut */
	va_end(arguments);
	result = result_error(run->scratch_ready ? run->scratch.id : NULL, CLI_ERROR, code, message);
	cli_error("run", "%s", message);
	if (run->options.json)
		(void)print_json(result); /* the exit status is an error already */
	if (run->options.status_fd >= 0)
		(void)result_status_end(run->options.status_fd, result); /* nobody to tell */
	json_decref(result);
	return CLI_ERROR;
}

/* A missing standard descriptor would be the number of the next file opened. */
static int check_stdio(struct run *run)
{
	int fd;

	if (fcntl(STDOUT_FILENO, F_GETFD) < 0) {
		run->options.json = false; /* nowhere to print it */
		return refuse(run, "output_closed", "standard output is closed; redirect it to a file or to /dev/null");
	}
	for (fd = 0; fd <= 2; fd += 2)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) != fd)
			return refuse(run, "setup_failed", "descriptor %d is closed and /dev/null cannot be opened",
				      fd);
	return 0;
}

static int prepare_places(struct run *run)
{
	struct policy_error error = {""};

	if (scratch_create(&run->scratch, &error) < 0)
		return refuse(run, "scratch_failed", "%s", error.text);
	run->scratch_ready = true;
	if (run->options.policy.workdir)
		run->workdir = strdup(run->options.policy.workdir);
	else if (asprintf(&run->workdir, "%s/work", run->scratch.path) < 0)
		run->workdir = NULL;
	if (!run->workdir)
		return refuse(run, "out_of_memory", "out of memory");
	return 0;
}

static int check_workdir(struct run *run, int *ret_fd)
{
	*ret_fd = open(run->workdir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (*ret_fd < 0 || faccessat(*ret_fd, ".", R_OK | X_OK, AT_EACCESS) < 0)
		return refuse(run, "workdir_unusable", "-w %s: %s; name a directory that you can read", run->workdir,
			      strerror(errno));
	return 0;
}

static int prepare(struct run *run)
{
	struct policy_error error = {""};
	_cleanup_close_ int workdir_fd = -1;
	const struct run_options *options = &run->options;

	if (cli_host_init(&run->host, options->argv[0]) < 0)
		return refuse(run, "out_of_memory", "out of memory");
	run->host_ready = true;
	if (prepare_places(run) != 0 || check_workdir(run, &workdir_fd) != 0)
		return CLI_ERROR;
	/* Before the policy, whose rules may name them (-x @workdir/tool). */
	if (input_copy(workdir_fd, options->input.item, options->input.count, &error) < 0)
		return refuse(run, "input_failed", "%s", error.text);
	if (cli_policy_load(&options->policy, "run", &run->host, run->scratch.path, &run->policy) < 0)
		return refuse(run, "policy_invalid", "the policy cannot be used: nothing was run");
	if (options->output) {
		run->output_fd = output_open(options->output, &error);
		if (run->output_fd < 0)
			return refuse(run, "output_failed", "%s", error.text);
	}
	return 0;
}

/* What --json keeps in memory is always bounded; what is shown as it comes is bounded where that was asked for. */
static uint64_t stream_limit(const struct run *run, uint64_t asked)
{
	if (asked)
		return asked;
	return run->options.json ? JSON_OUTPUT_BYTES : CAPTURE_NO_LIMIT;
}

/* Only where it can be cleared before anything else appears: the program's stdout must not go to the same terminal. */
static bool wants_status_line(const struct run_options *options)
{
	const char *term = getenv("TERM");

	return !options->quiet && isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0 &&
	       (options->json || !isatty(STDOUT_FILENO));
}

static void keep_artifacts(struct run *run, json_t *result)
{
	const struct output_options options = {
		.directory = run->options.output,
		.directory_fd = run->output_fd,
		.workdir_virt = policy_workdir(run->policy),
		.workdir_host = run->workdir,
		.globs = run->options.artifact.item,
		.glob_count = run->options.artifact.count,
	};
	struct policy_error error = {""};
	size_t files = 0;

	if (output_keep(&options, json_object_get(result, "changes"), &files, &error) < 0) {
		cli_error("run", "%s", error.text);
		result_set_error(result, "output_failed", error.text);
	} else if (run->options.verbose) {
		(void)fprintf(stderr, "callgate: kept %zu files in %s\n", files, run->options.output);
	}
}

static void check_stream(struct run *run, json_t *result, const char *name, const struct capture *capture)
{
	const char *path;
	char message[256], key[32];

	(void)snprintf(key, sizeof(key), "%s_path", name);
	path = json_string_value(json_object_get(result, key));
	if (capture->truncated && !run->options.quiet && !run->options.json)
		(void)fprintf(stderr, "callgate: %s passed its limit; %s%s\n", name,
			      path ? "all of it is in " : "the rest could not be kept", path ? path : "");
	if (capture->forward_error == 0 || capture->reader_gone)
		return;
	(void)snprintf(message, sizeof(message), "%s could not be written (%s): a part of the program's output is lost",
		       name, strerror(capture->forward_error));
	cli_error("run", "%s", message);
	result_set_error(result, "output_failed", message);
}

static int finish(struct run *run, const struct keeper_options *keeper, struct keeper_outcome *outcome)
{
	json_t *result = result_json(keeper, outcome);
	int exit_code;

	if (outcome->error_code)
		cli_error("run", "%s", outcome->message);
	check_stream(run, result, "stdout", &outcome->out);
	check_stream(run, result, "stderr", &outcome->err);
	if (run->output_fd >= 0 && outcome->report)
		keep_artifacts(run, result);
	exit_code = (int)json_integer_value(json_object_get(result, "exit_code"));
	if (run->options.json && print_json(result) != CLI_OK)
		exit_code = CLI_ERROR;
	if (!run->options.json)
		summary_print(stderr, result, run->options.events);
	if (run->options.status_fd >= 0 && result_status_end(run->options.status_fd, result) < 0)
		cli_error("run", "--status-fd %d: %s", run->options.status_fd, strerror(errno));
	json_decref(result);
	return exit_code;
}

static int watch(struct run *run)
{
	const struct policy_limits *limits = policy_limits(run->policy);
	const struct run_options *options = &run->options;
	json_t *layers = result_enforcement();
	struct keeper_outcome outcome;
	struct keeper_options keeper;
	int exit_code;

	run->layers = json_dumps(layers, JSON_COMPACT);
	json_decref(layers);
	if (!run->layers)
		return refuse(run, "out_of_memory", "out of memory");
	keeper = (struct keeper_options){
		.policy = run->policy,
		.scratch = &run->scratch,
		.argv = options->argv,
		.preferred = cli_host_program(&run->host),
		.workdir_host = run->workdir,
		.audit_path = options->audit ? options->audit : policy_audit_file(run->policy),
		.layers_json = run->layers,
		.show = !options->json,
		.interactive = options->interactive,
		.status_line = wants_status_line(options),
		.wall_ns = limits->wall_ns,
		.stdout_bytes = stream_limit(run, limits->stdout_bytes),
		.stderr_bytes = stream_limit(run, limits->stderr_bytes),
	};
	if (options->status_fd >= 0 && result_status_start(options->status_fd, run->scratch.id, getpid()) < 0)
		return refuse(run, "status_fd_failed", "--status-fd %d: cannot write to it", options->status_fd);
	if (keeper_run(&keeper, &outcome) < 0)
		exit_code = refuse(run, "setup_failed", "%s", outcome.message);
	else
		exit_code = finish(run, &keeper, &outcome);
	keeper_outcome_done(&outcome);
	return exit_code;
}

int cli_run(int argc, char **argv)
{
	struct run run = {.output_fd = -1};
	int exit_code, parsed;

	parsed = run_options_parse(argc, argv, &run.options, &exit_code);
	if (parsed < 0 && run.options.json) {
		json_t *result = result_error(NULL, CLI_ERROR, "usage", "bad usage: see the message on standard error");

		(void)print_json(result); /* the exit status is an error already */
		json_decref(result);
	}
	if (parsed == 0) {
		if (!run.options.events_given && !run.options.quiet)
			run.options.events = run.options.verbose     ? SUMMARY_BLOCKED
					     : isatty(STDERR_FILENO) ? SUMMARY_SUMMARY
								     : SUMMARY_NONE;
		exit_code = check_stdio(&run);
		if (exit_code == 0)
			exit_code = prepare(&run);
		if (exit_code == 0)
			exit_code = watch(&run);
	}
	run_done(&run);
	return exit_code;
}
