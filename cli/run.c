/* callgate run: from the command line to the exit status. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/ending.h"
#include "base/io.h"
#include "cli/account.h"
#include "cli/cli.h"
#include "cli/run-private.h"
#include "keeper/run.h"
#include "keeper/output.h"
#include "keeper/result.h"
#include "policy/network/net.h"

#include "base/banned.h"

#define JSON_OUTPUT_BYTES (UINT64_C(1) << 20) /* kept for --json when neither policy nor --output-limit says */

static void remove_scratch(struct run *run)
{
	_cleanup_free_ char *path = run->scratch.path ? strdup(run->scratch.path) : NULL; /* removing frees it */
	int error;

	/* As its owner, also when the run never began: whom the directory belongs to may still change it. */
	if (geteuid() != run->user.uid)
		(void)privs_become(&run->user); /* failed: then it is removed as root */
	error = scratch_remove(&run->scratch);
	if (error < 0)
		cli_error("run", "could not remove the run's scratch directory %s: %s; the next run tries again",
			  path ? path : "", strerror(-error));
}

static void run_done(struct run *run)
{
	if (run->scratch_ready)
		remove_scratch(run);
	custodian_stop(&run->custodian);
	if (!ending_is_tidy)
		return;
	policy_draft_free(run->draft);
	egress_read_done(&run->read);
	egress_read_done(&run->setup_read);
	policy_free(run->policy);
	policy_free(run->setup_policy);
	json_decref(run->setup_result);
	cleanup_close(&run->setup_audit_fd);
	free(run->setup_audit);
	free(run->setup_log);
	free(run->log);
	if (run->host_ready)
		cli_host_done(&run->host);
	cleanup_close(&run->output_fd);
	cleanup_close(&run->audit_fd);
	free(run->audit);
	free(run->workdir);
	layers_free(run->layers);
	cli_inherited_done(&run->inherited);
	run_options_done(&run->options);
}

int run_put_result(const struct run *run, const json_t *json)
{
	_cleanup_free_ char *text = json ? json_dumps(json, JSON_INDENT(2)) : NULL;
	_cleanup_free_ char *line = NULL;

	if (!text || asprintf(&line, "%s\n", text) < 0) {
		line = NULL;
		cli_error("run", "no memory for the result");
		return CLI_ERROR;
	}
	if (!run->in_setup)
		return cli_print("run", line);
	return io_write_full(run->result_fd, line, strlen(line)) == 0 ? CLI_OK : CLI_ERROR;
}

int run_refuse(struct run *run, const char *code, const char *format, ...)
{
	char message[1200];
	va_list arguments;
	json_t *result;

	va_start(arguments, format);
	(void)vsnprintf(message, sizeof(message), format, arguments); /* a longer one is cut */
	va_end(arguments);
	result = result_error(run->scratch_ready ? run->scratch.id : NULL, CLI_ERROR, code, message);
	cli_error("run", "%s", message);
	if (run->options.json || run->in_setup)
		(void)run_put_result(run, result); /* the exit status is an error already */
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
		return run_refuse(run, "output_closed",
				  "standard output is closed; redirect it to a file or to /dev/null");
	}
	for (fd = 0; fd <= 2; fd += 2)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) != fd)
			return run_refuse(run, "setup_failed", "descriptor %d is closed and /dev/null cannot be opened",
				      fd);
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

	return !options->quiet && !options->tty && isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0 &&
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
		.custodian = &run->custodian,
	};
	struct policy_error error = {""};
	size_t files = 0;

	if (output_keep(&options, json_object_get(result, "changes"), &files, &error) < 0) {
		cli_error("run", "%s", error.text);
		result_set_error(result, "output_failed", error.text);
	} else if (run->options.verbose) {
		cli_note("callgate: kept %zu files in %s", files, run->options.output);
	}
}

static void check_stream(struct run *run, json_t *result, const char *name, const struct capture *capture)
{
	const char *path;
	char message[256], key[32];

	(void)snprintf(key, sizeof(key), "%s_path", name);
	path = json_string_value(json_object_get(result, key));
	if (capture->truncated && !run->options.quiet && !run->options.json)
		cli_note("callgate: %s passed its limit; %s%s", name,
			 path ? "all of it is in " : "the rest could not be kept", path ? path : "");
	if (capture->forward_error == 0 || capture->reader_gone)
		return;
	(void)snprintf(message, sizeof(message), "%s could not be written (%s): a part of the program's output is lost",
		       name, strerror(capture->forward_error));
	cli_error("run", "%s", message);
	result_set_error(result, "output_failed", message);
}

/* Else who reads stderr alone would see a program that stopped in the middle of something. */
static void tell_limit(const json_t *result)
{
	const char *status = json_string_value(json_object_get(result, "status")), *name;
	json_t *limits = json_object_get(result, "limits"), *meter;

	if (!status) /* no memory for a result */
		return;
	if (strcmp(status, "timeout") == 0) {
		meter = json_object_get(json_object_get(limits, "wall"), "limit");
		cli_error("run", "the run was ended by its time limit of %g s",
			  (double)json_integer_value(meter) / 1000);
		return;
	}
	if (strcmp(status, "limit") != 0)
		return;
	json_object_foreach(limits, name, meter)
		/* Those of standard output and error have been reported. */
		if (json_is_true(json_object_get(meter, "hit")) && strncmp(name, "std", 3) != 0)
			cli_error("run", "the run reached its limit: %s", name);
}

static int finish(struct run *run, const struct keeper_options *keeper, struct keeper_outcome *outcome)
{
	json_t *result = result_json(keeper, outcome);
	int exit_code;

	if (outcome->error_code)
		cli_error("run", "%s", outcome->message);
	if (!run->options.quiet)
		tell_limit(result);
	check_stream(run, result, "stdout", &outcome->out);
	check_stream(run, result, "stderr", &outcome->err);
	if (run->output_fd >= 0 && outcome->report)
		keep_artifacts(run, result);
	exit_code = (int)json_integer_value(json_object_get(result, "exit_code"));
	if (run->setup_result)
		(void)json_object_set(result, "setup", run->setup_result);
	if ((run->options.json || run->in_setup) && run_put_result(run, result) != CLI_OK)
		exit_code = CLI_ERROR;
	if (run->in_setup && !run->options.json && run->options.events != SUMMARY_NONE &&
	    json_array_size(json_object_get(result, "denials")) > 0)
		cli_note("callgate: denied to the setup:");
	if (!run->options.json)
		summary_print(stderr, result, run->options.events);
	if (run->options.status_fd >= 0 && result_status_end(run->options.status_fd, result) < 0)
		cli_error("run", "--status-fd %d: %s", run->options.status_fd, strerror(errno));
	json_decref(result);
	return exit_code;
}

int run_watch(struct run *run)
{
	const struct policy_limits *limits = policy_limits(run->policy);
	const struct run_options *options = &run->options;
	struct keeper_outcome outcome;
	struct keeper_options keeper;
	int exit_code;

	account_end(); /* the policy may have been read again */
	run->layers = layers_create(options->policy.without, policy_required(run->policy));
	if (!run->layers)
		return run_refuse(run, "out_of_memory", "out of memory");
	keeper = (struct keeper_options){
		.policy = run->policy,
		.scratch = &run->scratch,
		.scratch_bare = run->scratch_bare,
		.argv = options->argv,
		.preferred = run->in_setup ? NULL : cli_host_program(&run->host),
		.workdir_host = run->workdir,
		.audit_path = run->audit ? run->audit : run->log,
		.audit_fd = run->audit_fd,
		.audit_beside = run->in_setup ? NULL : run->setup_audit ? run->setup_audit : run->setup_log,
		.part = run->in_setup ? "setup" : NULL,
		.layers = run->layers,
		.read = options->setup ? &run->read : NULL,
		.user = run->user,
		.custodian = &run->custodian,
		.show = !options->json,
		.interactive = options->interactive,
		.output = run->output_fd >= 0,
		.tty = options->tty,
		.parent = options->die_with_parent ? run->parent : 0,
		.status_line = wants_status_line(options),
		.wall_ns = limits->wall_ns,
		.stdout_bytes = stream_limit(run, limits->stdout_bytes),
		.stderr_bytes = stream_limit(run, limits->stderr_bytes),
	};
	if (options->status_fd >= 0 && !run->setup_result &&
	    result_status_start(options->status_fd, run->scratch.id, getpid()) < 0)
		return run_refuse(run, "status_fd_failed", "--status-fd %d: cannot write to it", options->status_fd);
	if (keeper_run(&keeper, &outcome) < 0)
		exit_code = run_refuse(run, "setup_failed", "%s", outcome.message);
	else
		exit_code = finish(run, &keeper, &outcome);
	keeper_outcome_done(&outcome);
	return exit_code;
}

/* What a secret is read from is closed when it has been; see secrets_load. */
static bool has_secret(const struct policy *policy, int fd)
{
	size_t count = 0;
	const struct net_secret *secret = policy ? policy_net_secrets(policy, &count) : NULL;

	for (size_t i = 0; i < count; i++)
		if (strncmp(secret[i].from, "fd:", 3) == 0 && strtol(secret[i].from + 3, NULL, 10) == fd)
			return true;
	return false;
}

static bool is_needed(const void *ctx, int fd)
{
	const struct run *run = ctx;

	return fd == run->options.status_fd || has_secret(run->policy, fd) || has_secret(run->setup_policy, fd);
}

static int prepare(struct run *run)
{
	int exit_code = run_prepare(run);

	if (run->scratch.notice && !run->options.quiet)
		cli_note("callgate: %s", run->scratch.notice);
	return exit_code;
}

int cli_run(int argc, char **argv)
{
	struct run run = {
		.parent = getppid(), .output_fd = -1, .audit_fd = -1, .setup_audit_fd = -1, .result_fd = -1};
	int exit_code, parsed;

	if (cli_inherited_list(&run.inherited) < 0) {
		cli_error("run", "out of memory");
		return CLI_ERROR;
	}
	parsed = run_options_parse(argc, argv, &run.options, &exit_code);
	if (parsed < 0 && run.options.json) {
		json_t *result = result_error(NULL, CLI_ERROR, "usage", "bad usage: see the message on standard error");

		(void)run_put_result(&run, result); /* the exit status is an error already */
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
		/* A policy or an input may have been one: "-p /dev/fd/63", by a shell's <(...). */
		cli_inherited_close(&run.inherited, is_needed, &run);
		if (exit_code == 0 && (!run.options.setup || run_setup(&run, &exit_code)))
			exit_code = run_watch(&run);
	}
	run_done(&run);
	(void)fflush(NULL); /* who writes to it tells of errors */
	ending(exit_code);
}
