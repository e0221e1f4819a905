/* Prepares a run: user, scratch directory, inputs, policy, log, --output. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "audit/audit.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/path.h"
#include "base/text.h"
#include "cli/host/account.h"
#include "cli/load.h"
#include "cli/run/private.h"
#include "confine/selffilter.h"
#include "keeper/output.h"

#define USER_DEFAULT_PATH "/usr/local/bin:/usr/bin:/bin" /* PATH for a run as another user, as in the profile minimal */

/* Makes the scratch directory, or only its name if the keeper is to do the rest. 0, or the exit status. */
static int prepare_scratch_directory(struct run *run)
{
	struct policy_error error = {""};
	int made;

	/* Without --user, --input and --setup nothing uses the subdirectories before the keeper creates them. */
	run->scratch_dirs_are_not_made_yet =
		!run->user.set && !run->options.input_paths.count && !run->options.setup_command;
	made = run->scratch_dirs_are_not_made_yet ? scratch_begin_run(&run->scratch, &error)
					 : scratch_create(&run->scratch, &error);
	if (made < 0)
		return run_report_refusal(run, "scratch_failed", "%s", error.text);
	run->workdir = run->options.policy.workdir ? strdup(run->options.policy.workdir)
						   : text_format("%s/work", run->scratch.path);
	return run->workdir ? 0 : run_refuse_no_memory(run);
}

/* Opens the working directory, which the user must be able to read. 0, or the exit status after a report. */
static int prepare_check_workdir(struct run *run)
{
	char who[64] = "you";

	if (run->scratch_dirs_are_not_made_yet && !run->options.policy.workdir)
		return 0; /* the keeper will create the workdir */
	if (run->user.set)
		(void)snprintf(who, sizeof(who), "user %u", run->user.uid);
	run->workdir_fd = io_open_without_links(run->workdir, O_RDONLY | O_DIRECTORY);
	if (run->workdir_fd < 0)
		errno = -run->workdir_fd;
	if (run->workdir_fd < 0 || faccessat(run->workdir_fd, ".", R_OK | X_OK, AT_EACCESS) < 0)
		return run_report_refusal(run, "workdir_unusable", "-w %s: %s; name a directory that %s can read",
					  run->workdir,
					  strerror(errno), who);
	return 0;
}

/* Makes the scratch directory, and checks the working directory. 0, or the exit status. */
static int prepare_user_directories(struct run *run)
{
	const int exit_code = prepare_scratch_directory(run);

	return exit_code ? exit_code : prepare_check_workdir(run);
}

/*
 * Looks up the user that `text` names: the value of --user or of the policy's "user". text NULL: does nothing. 0, or an
 * exit status.
 */
static int prepare_look_up_user(struct run *run, const char *text, struct privs_user *ret_user)
{
	const char *option = run->options.policy.cli.user ? "--user" : "the policy's user";
	struct policy_error error = {""};

	if (text && run_find_user(option, text, ret_user, &error) < 0)
		return run_report_refusal(run, "user_failed", "%s", error.text);
	return 0;
}

/*
 * Sets "~", HOME, USER and LOGNAME to those of the run's user; the policy decides which variables are passed on. PATH
 * becomes the default of the system, because the PATH of the user who started callgate may lead into a home directory.
 * HOME without an account is "/".
 */
static int prepare_set_account_variables(struct run *run)
{
	const struct account *account = account_find(NULL, run->user.uid);
	const char *home = account && account->home && account->home[0] == '/' ? account->home : "/";
	const char *name = account ? account->name : NULL;
	int error = setenv("HOME", home, 1) | setenv("PATH", USER_DEFAULT_PATH, 1);

	error |= name ? setenv("USER", name, 1) | setenv("LOGNAME", name, 1)
		      : unsetenv("USER") | unsetenv("LOGNAME");
	return error || cli_host_set_home(&run->host, home) < 0 ? run_refuse_no_memory(run) : 0;
}

/* Finds the run's user, from --user or the policy's "user", before the scratch directory is created for that user. */
static int prepare_find_user(struct run *run)
{
	const struct cli_policy_options *options = &run->options.policy;
	_cleanup_free_ char *named = NULL;

	/* Only root can change to another user. For all others prepare_confirm_user() refuses the change later. */
	if (!options->cli.user && options->policy_names.count > 0 && geteuid() == 0)
		run->policy_draft =
			policy_find_user((const char *const *)options->policy_names.item, &run->host.policy, &named);
	if (prepare_look_up_user(run, named ? named : options->cli.user, &run->user) != 0)
		return CLI_EXIT_ERROR;
	if (run->user.set) {
		run->host.uid = run->user.uid;
		run->host.gid = run->user.gid;
		return prepare_set_account_variables(run);
	}
	return 0;
}

/*
 * Refuses the run if the compiled policy names another user than the run was prepared for. A policy without "user"
 * means the user who started callgate.
 */
static int prepare_confirm_user(struct run *run)
{
	struct privs_user user = {.set = false};

	if (prepare_look_up_user(run, policy_get_settings(run->program_phase.policy)->user, &user) != 0)
		return CLI_EXIT_ERROR;
	if (user.set != run->user.set || user.uid != run->user.uid || user.gid != run->user.gid)
		return run_report_refusal(run, "user_failed",
					  "the policy's user has changed since it was first read; try again");
	return 0;
}

/* With the ids of the run's user: warns if the policy lets the program write in the workdir but that user cannot. */
static int prepare_warn_of_unwritable_workdir(struct run *run)
{
	const char *virt = policy_get_settings(run->program_phase.policy)->workdir;

	if (run->user.set && run->options.policy.workdir && !run->options.is_quiet &&
	    policy_get_rights(run->program_phase.policy, virt, strlen(virt)) & POLICY_WRITE &&
	    faccessat(AT_FDCWD, run->workdir, W_OK, AT_EACCESS) < 0)
		cli_note("callgate: -w %s: user %u may not write there (%s), whatever the policy grants", run->workdir,
			 run->user.uid, strerror(errno));
	return 0;
}

/* With the ids of the run's user: warns of directories of --cow-dir in which that user may not write. */
static int prepare_warn_of_unwritable_dirs(struct run *run)
{
	const struct policy_settings *settings = policy_get_settings(run->program_phase.policy);

	if (run->options.is_quiet || run->options.copies_workspace)
		return 0; /* the copies are the user's own */
	for (size_t i = 0; i < settings->workspace_dir_count; i++)
		if (faccessat(AT_FDCWD, settings->workspace_dir[i], W_OK, AT_EACCESS) < 0)
			cli_note("callgate: --cow-dir %s: user %u may not write there (%s), nor may the program in an "
				 "overlay; --cow=copy gives it a copy of its own",
				 settings->workspace_dir[i], geteuid(), strerror(errno));
	return 0;
}

void run_phase_release(struct run_phase *part)
{
	egress_data_from_host_release(&part->egress_data_from_host);
	policy_free(part->policy);
	cleanup_close(&part->audit_fd);
	free(part->log_path);
	*part = RUN_PHASE_INIT;
}

/* ---- paths from the command line ---- */

/*
 * Judges the directory of a file that callgate will create or open. *ret_path: the file's path with its directory made
 * canonical, owned; NULL: there is no such directory. The last component is not resolved, because it is opened without
 * following links. 0, or an exit status after run_report_refusal.
 */
static int prepare_judge_parent_directory(struct run *run, const char *what, const char *path, char **ret_path)
{
	const struct writable_places places = run_collect_writable_places(run);
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	_cleanup_free_ char *dir = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup("."), *real = NULL;
	struct places_refusal why = {""};

	if (dir && places_judge_path(&places, PLACES_PATH_IS_GRANTED, dir, &real, &why) < 0)
		return run_report_refusal(run, "path_refused", "%s %s: its directory %s", what, path, why.text);
	*ret_path = real ? text_format("%s/%s", strcmp(real, "/") == 0 ? "" : real, name) : NULL;
	return dir && (!real || *ret_path) ? 0 : run_refuse_no_memory(run);
}

/* Judges the directory of --output, and opens it or creates it. */
static int prepare_open_output_directory(struct run *run)
{
	const struct writable_places places = run_collect_writable_places(run);
	const char *named = run->options.output_dir;
	size_t len = strlen(named);
	_cleanup_free_ char *path = NULL, *trimmed = NULL;
	struct policy_error error = {""};
	struct places_refusal why = {""};

	if (places_judge_path(&places, PLACES_PATH_IS_GRANTED, named, &path, &why) < 0)
		return run_report_refusal(run, "path_refused", "--output %s %s", named, why.text);
	while (len > 1 && named[len - 1] == '/')
		len--;
	trimmed = strndup(named, len);
	if (!trimmed)
		return run_refuse_no_memory(run);
	if (!path && prepare_judge_parent_directory(run, "--output", trimmed, &path) != 0)
		return CLI_EXIT_ERROR;
	if (!path)
		return run_report_refusal(run, "output_failed",
					  "--output %s: %s; name a directory that can be written", named,
					  strerror(ENOENT));
	run->output_fd = output_open_directory(path, &error);
	return run->output_fd < 0 ? run_report_refusal(run, "output_failed", "%s", error.text) : 0;
}

/* ---- creating the log ---- */

/*
 * With --user, creates the log, because only the user who started callgate may be able to. Otherwise the supervisor
 * creates it.
 */
static int prepare_make_log(struct run *run, const char *named, struct run_phase *part)
{
	const char *slash = part->log_path ? strrchr(part->log_path, '/') : NULL;
	_cleanup_free_ char *dir = slash ? strndup(part->log_path, (size_t)(slash - part->log_path) + 1) : NULL,
			    *name = NULL;
	_cleanup_close_ int dirfd = -1;

	if (!slash || !run->user.set)
		return 0;
	dirfd = dir ? io_open_without_links(dir, O_PATH | O_DIRECTORY) : -ENOMEM;
	name = dirfd < 0 ? NULL : text_format("/proc/self/fd/%d/%s", dirfd, slash + 1);
	part->audit_fd = dirfd < 0 ? dirfd : name ? audit_make_log_file(name) : -ENOMEM;
	if (part->audit_fd == -EEXIST)
		return run_report_refusal(run, "audit_failed", "the log %s exists; remove it or name another file",
					  named);
	if (part->audit_fd < 0)
		return run_report_refusal(run, "audit_failed", "cannot write the log %s: %s", named,
					  strerror(-part->audit_fd));
	return 0;
}

/*
 * Opens the private key while this process still has the rights of the user who started callgate. The keeper reads the
 * key later.
 */
static int prepare_open_key(struct run *run)
{
	const char *named = run->options.sign_key_path;
	struct stat file;

	if (!named)
		return 0;
	run->sign_key_fd = open(named, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	run->sign_key_path = realpath(named, NULL);
	if (run->sign_key_fd < 0 || !run->sign_key_path || fstat(run->sign_key_fd, &file) < 0)
		return run_report_refusal(run, "audit_failed", "cannot read the key %s: %s", named, strerror(errno));
	if (!S_ISREG(file.st_mode) || file.st_mode & 077)
		return run_report_refusal(run, "audit_failed",
					  S_ISREG(file.st_mode)
						  ? "the key %s can be read or written by others; chmod 600 it, or "
						    "make a new one if it may have been read"
						  : "the key %s is not a regular file",
					  named);
	return 0;
}

/* Judges and creates the log. The setup has its own log next to the program's. */
static int prepare_make_logs(struct run *run)
{
	const struct policy_settings *settings = policy_get_settings(run->program_phase.policy);
	const char *named = run->options.audit_path ? run->options.audit_path : settings->audit_file;
	int exit_code;

	if (!named)
		return run->options.sign_key_path || run->options.rotate_bytes || run->options.anchor_place ||
				       run->options.attest_path
			       ? run_report_refusal(run, "audit_failed",
						    "--sign-key, --attest, --anchor and --audit-rotate need a log; add "
						    "--audit FILE")
			       : 0;
	if (run->options.rotate_bytes && run->user.set)
		return run_report_refusal(run, "audit_failed",
					  "--audit-rotate needs a directory in which the run's user may make files, so "
					  "it does not go with --user; leave out one of them");
	if (prepare_open_key(run) != 0)
		return CLI_EXIT_ERROR;
	if (run->options.anchor_place && run_anchor_is_file(run->options.anchor_place) &&
	    (prepare_judge_parent_directory(run, "--anchor", run->options.anchor_place, &run->anchor_path) != 0 ||
	     !run->anchor_path))
		return run_report_refusal(run, "audit_failed", "--anchor %s: %s", run->options.anchor_place,
					  strerror(ENOENT));
	if (run->options.anchor_place && run_open_anchor(run) != 0)
		return CLI_EXIT_ERROR;
	if (prepare_judge_parent_directory(run, "the log", named, &run->program_phase.log_path) != 0)
		return CLI_EXIT_ERROR;
	if (!run->program_phase.log_path)
		return run_report_refusal(run, "audit_failed", "cannot write the log %s: %s", named, strerror(ENOENT));
	run->setup_phase.log_path =
		run->options.setup_command ? text_format("%s.setup", run->program_phase.log_path) : NULL;
	if (run->options.setup_command && !run->setup_phase.log_path)
		return run_refuse_no_memory(run);
	exit_code = prepare_make_log(run, named, &run->program_phase);
	return exit_code ? exit_code : prepare_make_log(run, run->setup_phase.log_path, &run->setup_phase);
}

/* Connects to the system's log: --audit-sink. */
static int prepare_connect_to_system_log(struct run *run)
{
	const char *named = run->options.sink_name, *path = NULL;

	run->sink_kind = sink_parse(named, &path);
	if (run->sink_kind == SINK_NONE)
		return run_report_refusal(run, "usage",
					  "--audit-sink %s: must be syslog or journald, or one of them with \":\" and "
					  "the path of its socket",
					  named);
	run->system_log_fd = sink_connect(path);
	if (run->system_log_fd < 0)
		return run_report_refusal(run, "sink_failed",
					  "--audit-sink %s: cannot connect to %s: %s; is it running?", named, path,
					  strerror(-run->system_log_fd));
	return 0;
}

/*
 * Opens the directory of a file that is written when the run has ended. code: code of the error in the result if this
 * fails.
 */
static int prepare_open_end_file(struct run *run, const char *option, const char *named, const char *code,
				 struct run_end_file *file)
{
	_cleanup_free_ char *path = NULL;
	int error;

	if (prepare_judge_parent_directory(run, option, named, &path) != 0)
		return CLI_EXIT_ERROR;
	error = path ? run_end_file_open(path, file) : -ENOENT;
	if (error < 0)
		return run_report_refusal(run, code, "%s %s: %s; name a file in a directory that can be written",
					  option, named, strerror(-error));
	return 0;
}

/* Prints which grants have no effect and, with --verbose, what policies warn of. */
static void prepare_print_warnings(struct run *run)
{
	const struct run_options *options = &run->options;

	if (!options->is_quiet)
		cli_host_report_void_grants(&run->host);
	if (options->is_verbose)
		cli_print_policy_warnings("run", run->program_phase.policy);
	if (options->is_verbose && options->setup_command)
		cli_print_policy_warnings("run --setup", run->setup_phase.policy);
}

int run_start_custodian(struct run *run)
{
	const char *why;
	bool self_filter = !(run->options.policy.switched_off_layers & LAYER_BIT(LAYER_SELF_FILTER)) &&
			   selffilter_works_in_this_build(&why);
	const int dir_fd[CUSTODIAN_DIR_COUNT] = {run->output_fd, run->metrics_file.dir_fd,
						 run->attestation_file.dir_fd};
	int error = custodian_start(dir_fd, self_filter, &run->custodian);

	return error < 0 ? run_report_refusal(run, "user_failed", "cannot start the custodian: %s",
					      strerror(-error)) : 0;
}

/*
 * With --mode observe: makes the observing policy the program's policy; the observing policy owns the judged policy.
 * All checks were made before with the judged policy, because an observing policy lets everything be written.
 */
static int prepare_observing_policy(struct run *run)
{
	const char *const hidden[] = {run->program_phase.log_path, NULL};
	const struct policy_observe observe = {.judged_policy = run->program_phase.policy,
					       .hidden_paths = hidden,
					       .may_read_secrets = run->options.allow_risky,
					       .reaches_public_endpoints = !run->options.policy.cli.denies_network};
	struct policy *policy;

	if (!run->options.observes)
		return 0;
	if (cli_load_observing_policy(&run->options.policy, "run", &run->host, &observe, &policy) < 0)
		return run_report_refusal(run, "policy_invalid", "the policy cannot be observed: nothing was run");
	run->program_phase.policy = policy;
	return 0;
}

int run_prepare(struct run *run)
{
	const struct run_options *options = &run->options;

	if (cli_host_init(&run->host, options->argv[0]) < 0)
		return run_refuse_no_memory(run);
	if (prepare_find_user(run) != 0 || run_call_with_user_ids(run, prepare_user_directories) != 0)
		return CLI_EXIT_ERROR;
	/* Inputs are copied before the policy is loaded: its rules may name the copies (-x @workdir/tool). */
	if (run_copy_inputs(run) != 0)
		return CLI_EXIT_ERROR;
	if (run_load_policies(run) != 0 || run_heed_workspace_of_policy(run) != 0 ||
	    run_call_with_user_ids(run, run_make_workspace) != 0 || run_copy_inputs_to_workspace(run) != 0)
		return CLI_EXIT_ERROR;
	close_fd(&run->workdir_fd);
	prepare_print_warnings(run);
	/* Not with --setup, which may create the missing files. */
	if (!options->is_quiet && !options->setup_command)
		cli_warn_missing_grants("run", &run->host, run->program_phase.policy, !options->is_verbose);
	if (prepare_confirm_user(run) != 0 || run_call_with_user_ids(run, prepare_warn_of_unwritable_workdir) != 0 ||
	    run_call_with_user_ids(run, prepare_warn_of_unwritable_dirs) != 0 || prepare_make_logs(run) != 0)
		return CLI_EXIT_ERROR;
	if (options->output_dir && prepare_open_output_directory(run) != 0)
		return CLI_EXIT_ERROR;
	if (options->sink_name && prepare_connect_to_system_log(run) != 0)
		return CLI_EXIT_ERROR;
	if (options->metrics_path &&
	    prepare_open_end_file(run, "--metrics", options->metrics_path, "metrics_failed", &run->metrics_file) != 0)
		return CLI_EXIT_ERROR;
	if (options->attest_path &&
	    prepare_open_end_file(run, "--attest", options->attest_path, "attest_failed", &run->attestation_file) != 0)
		return CLI_EXIT_ERROR;
	if (options->ask_dir && run_call_with_user_ids(run, run_open_ask_directory) != 0)
		return CLI_EXIT_ERROR;
	if (options->approve && run_start_approver(run) != 0)
		return CLI_EXIT_ERROR;
	if (prepare_observing_policy(run) != 0 || run_load_ask_policy(run) != 0)
		return CLI_EXIT_ERROR;
	account_end_lookups();
	return run->user.set && run->user.uid != geteuid() ? run_start_custodian(run) : 0;
}
