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
#include "cli/cli.h"
#include "cli/format.h"
#include "cli/host/account.h"
#include "cli/load.h"
#include "cli/run/private.h"
#include "cli/run/user.h"
#include "confine/selffilter.h"
#include "keeper/input.h"
#include "keeper/output.h"

#include "base/banned.h"

static int prepare_scratch(struct run *run)
{
	struct policy_error error = {""};
	int made;

	/* Without --user, --input and --setup nothing is put into it now: the keeper makes its directories later. */
	run->scratch_dirs_pending = !run->user.set && !run->options.input.count && !run->options.setup;
	made = run->scratch_dirs_pending ? scratch_begin(&run->scratch, &error) : scratch_create(&run->scratch, &error);
	if (made < 0)
		return run_refuse(run, "scratch_failed", "%s", error.text);
	run->scratch_ready = true;
	run->workdir = run->options.policy.workdir ? strdup(run->options.policy.workdir)
						   : cli_format("%s/work", run->scratch.path);
	return run->workdir ? 0 : run_no_memory(run);
}

static int prepare_check_workdir(struct run *run, int *ret_fd)
{
	char who[64] = "you";

	if (run->scratch_dirs_pending && !run->options.policy.workdir)
		return 0; /* the keeper will make it */
	if (run->user.set)
		(void)snprintf(who, sizeof(who), "user %u", run->user.uid);
	*ret_fd = io_open_plain(run->workdir, O_RDONLY | O_DIRECTORY);
	if (*ret_fd < 0)
		errno = -*ret_fd;
	if (*ret_fd < 0 || faccessat(*ret_fd, ".", R_OK | X_OK, AT_EACCESS) < 0)
		return run_refuse(run, "workdir_unusable", "-w %s: %s; name a directory that %s can read", run->workdir,
				  strerror(errno), who);
	return 0;
}

/* With the effective ids of the run's user, who owns what is made here and whose rights decide what can be used. */
static int prepare_as_user(struct run *run, int *ret_workdir_fd)
{
	struct privs_before before;
	int exit_code, error = privs_borrow(&run->user, &before);

	if (error < 0)
		return run_refuse(run, "user_failed", "cannot become user %u: %s", run->user.uid, strerror(-error));
	exit_code = prepare_scratch(run);
	if (exit_code == 0)
		exit_code = prepare_check_workdir(run, ret_workdir_fd);
	error = privs_return(&before);
	if (error < 0 && exit_code == 0)
		exit_code = run_refuse(run, "user_failed", "cannot return from user %u: %s", run->user.uid,
				       strerror(-error));
	return exit_code;
}

/* --user, else the policy's "user", which has to be known before the scratch directory is made. */
static int prepare_find_user(struct run *run)
{
	const struct cli_policy_options *options = &run->options.policy;
	_cleanup_free_ char *named = NULL;
	const char *text = options->user;
	struct policy_error error = {""};

	/* Only root can change its user. For all others prepare_confirm_user() refuses it later. */
	if (!text && options->names.count > 0 && geteuid() == 0)
		run->draft = policy_peek((const char *const *)options->names.item, &run->host.policy, &named);
	if (!text)
		text = named;
	if (text && run_user_find(named ? "the policy's user" : "--user", text, &run->user, &error) < 0)
		return run_refuse(run, "user_failed", "%s", error.text);
	if (run->user.set) {
		run->host.uid = run->user.uid;
		run->host.gid = run->user.gid;
	}
	return 0;
}

/* Whether the compiled policy names the user that the run was prepared for. Without a name: the caller. */
static int prepare_confirm_user(struct run *run)
{
	const char *text = policy_settings(run->policy)->user;
	struct privs_user user = {.set = false};
	struct policy_error error = {""};

	if (text && run_user_find(run->options.policy.user ? "--user" : "the policy's user", text, &user, &error) < 0)
		return run_refuse(run, "user_failed", "%s", error.text);
	if (user.set != run->user.set || user.uid != run->user.uid || user.gid != run->user.gid)
		return run_refuse(run, "user_failed",
				  "the policy's user has changed since it was first read; try again");
	return 0;
}

/* A policy that grants more than the user's own rights is usually a mistake, but not an error. */
static int prepare_warn_workdir(struct run *run)
{
	const char *virt = policy_settings(run->policy)->workdir;
	struct privs_before before;
	int error;

	if (!run->user.set || !run->options.policy.workdir || run->options.quiet ||
	    !(policy_rights(run->policy, virt, strlen(virt)) & POLICY_WRITE))
		return 0;
	error = privs_borrow(&run->user, &before);
	if (error == 0 && faccessat(AT_FDCWD, run->workdir, W_OK, AT_EACCESS) < 0)
		cli_note("callgate: -w %s: user %u may not write there (%s), whatever the policy grants", run->workdir,
			 run->user.uid, strerror(errno));
	if (error == 0)
		error = privs_return(&before);
	if (error < 0)
		return run_refuse(run, "user_failed", "cannot become user %u: %s", run->user.uid, strerror(-error));
	return 0;
}

int run_load_policy(struct run *run, enum policy_phase phase, struct policy **ret_policy)
{
	struct cli_policy_options options = run->options.policy; /* borrows its lists */
	int error;

	options.phase = phase;
	options.draft = run->draft; /* the first load empties it */
	error = cli_policy_load(&options, "run", &run->host, run->scratch.path, ret_policy);
	return error < 0 ? run_refuse(run, "policy_invalid", "the policy cannot be used: nothing was run") : 0;
}

static int prepare_load_policies(struct run *run)
{
	const struct run_options *options = &run->options;

	if (run_load_policy(run, options->policy.phase, &run->policy) != 0)
		return CLI_ERROR;
	if (options->setup && run_load_policy(run, POLICY_PHASE_SETUP, &run->setup_policy) != 0)
		return CLI_ERROR;
	return 0;
}

/* ---- paths of the command line ---- */

static struct places prepare_places(struct run *run)
{
	return cli_policy_places(&run->options.policy, &run->host, run->policy, run->setup_policy);
}

/*
 * Judges the directory of a file that is to be made or opened. *ret_path: the file by that directory's canonical path,
 * owned; NULL: there is no such directory. The last component is not resolved, because it is opened without following
 * links. 0, or an exit status after run_refuse.
 */
static int prepare_judge_parent(struct run *run, const char *what, const char *path, char **ret_path)
{
	const struct places places = prepare_places(run);
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	_cleanup_free_ char *dir = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup("."), *real = NULL;
	struct places_why why = {""};

	if (dir && places_judge(&places, PLACES_GRANT, dir, &real, &why) < 0)
		return run_refuse(run, "path_refused", "%s %s: its directory %s", what, path, why.text);
	*ret_path = real ? cli_format("%s/%s", strcmp(real, "/") == 0 ? "" : real, name) : NULL;
	return dir && (!real || *ret_path) ? 0 : run_no_memory(run);
}

/* --output's directory, which may exist already. */
static int prepare_open_output(struct run *run)
{
	const struct places places = prepare_places(run);
	const char *named = run->options.output;
	size_t len = strlen(named);
	_cleanup_free_ char *path = NULL, *trimmed = NULL;
	struct policy_error error = {""};
	struct places_why why = {""};

	if (places_judge(&places, PLACES_GRANT, named, &path, &why) < 0)
		return run_refuse(run, "path_refused", "--output %s %s", named, why.text);
	while (len > 1 && named[len - 1] == '/')
		len--;
	trimmed = strndup(named, len);
	if (!trimmed)
		return run_no_memory(run);
	if (!path && prepare_judge_parent(run, "--output", trimmed, &path) != 0)
		return CLI_ERROR;
	if (!path)
		return run_refuse(run, "output_failed", "--output %s: %s; name a directory that can be written", named,
				  strerror(ENOENT));
	run->output_fd = output_open(path, &error);
	return run->output_fd < 0 ? run_refuse(run, "output_failed", "%s", error.text) : 0;
}

static void prepare_note_link(void *ctx, const char *link)
{
	bool *linked = ctx;

	(void)link;
	*linked = true;
}

/* For inputs behind a symbolic link: the policies tell which links a run may have made. */
static int prepare_judge_inputs(struct run *run, struct input_file *file, size_t count)
{
	struct places_why why = {""};
	int exit_code = prepare_load_policies(run);

	for (size_t i = 0; i < count && exit_code == 0; i++) {
		const struct places places = prepare_places(run);

		free(file[i].path);
		file[i].path = NULL;
		if (places_judge(&places, PLACES_GRANT, file[i].named, &file[i].path, &why) < 0)
			exit_code = run_refuse(run, "path_refused", "--input %s %s", file[i].named, why.text);
	}
	policy_free(run->policy);
	policy_free(run->setup_policy);
	run->policy = run->setup_policy = NULL;
	return exit_code;
}

static int prepare_copy_inputs(struct run *run, int workdir_fd)
{
	const struct cli_list *named = &run->options.input;
	_cleanup_free_ struct input_file *file = calloc(named->count + 1, sizeof(*file));
	struct policy_error error = {""};
	bool linked = false;
	int exit_code = 0;

	if (!file)
		return run_no_memory(run);
	for (size_t i = 0; i < named->count; i++) {
		file[i].named = named->item[i];
		file[i].path = cli_real_way(&run->host.real, named->item[i], prepare_note_link, &linked);
	}
	if (linked)
		exit_code = prepare_judge_inputs(run, file, named->count);
	if (exit_code == 0 && input_copy(workdir_fd, file, named->count, &run->user, &error) < 0)
		exit_code = run_refuse(run, "input_failed", "%s", error.text);
	for (size_t i = 0; i < named->count; i++)
		free(file[i].path);
	return exit_code;
}

/* ---- the log ---- */

/* With --user the log is made here, because only the caller may be able to. Otherwise the supervisor makes it. */
static int prepare_make_log(struct run *run, const char *named, const char *path, int *ret_fd, char **ret_path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;
	_cleanup_free_ char *dir = path ? strndup(path, (size_t)(slash - path) + 1) : NULL, *name = NULL;
	_cleanup_close_ int dirfd = -1;

	if (!path || !run->user.set)
		return 0;
	dirfd = dir ? io_open_plain(dir, O_PATH | O_DIRECTORY) : -ENOMEM;
	name = dirfd < 0 ? NULL : cli_format("/proc/self/fd/%d/%s", dirfd, slash + 1);
	*ret_fd = dirfd < 0 ? dirfd : name ? audit_make(name) : -ENOMEM;
	if (*ret_fd == -EEXIST)
		return run_refuse(run, "audit_failed", "the log %s exists; remove it or name another file", named);
	if (*ret_fd < 0)
		return run_refuse(run, "audit_failed", "cannot write the log %s: %s", named, strerror(-*ret_fd));
	*ret_path = strdup(path);
	return *ret_path ? 0 : run_no_memory(run);
}

/* The setup has a log of its own, next to the program's. */
static int prepare_make_logs(struct run *run)
{
	const char *named = run->options.audit ? run->options.audit : policy_settings(run->policy)->audit_file;

	if (!named)
		return 0;
	if (prepare_judge_parent(run, "the log", named, &run->log) != 0)
		return CLI_ERROR;
	if (!run->log)
		return run_refuse(run, "audit_failed", "cannot write the log %s: %s", named, strerror(ENOENT));
	run->setup_log = run->options.setup ? cli_format("%s.setup", run->log) : NULL;
	if (run->options.setup && !run->setup_log)
		return run_no_memory(run);
	if (prepare_make_log(run, named, run->log, &run->audit_fd, &run->audit) != 0)
		return CLI_ERROR;
	return prepare_make_log(run, run->setup_log, run->setup_log, &run->setup_audit_fd, &run->setup_audit);
}

static void prepare_warnings(struct run *run)
{
	const struct run_options *options = &run->options;

	if (!options->quiet)
		cli_host_tell(&run->host);
	if (options->verbose)
		cli_policy_warnings("run", run->policy);
	if (options->verbose && options->setup)
		cli_policy_warnings("run --setup", run->setup_policy);
}

int run_start_custodian(struct run *run)
{
	const char *why;
	bool self_filter = !(run->options.policy.without & LAYER_BIT(LAYER_SELF_FILTER)) && selffilter_possible(&why);
	int error = custodian_start(run->output_fd, self_filter, &run->custodian);

	return error < 0 ? run_refuse(run, "user_failed", "cannot start the custodian: %s", strerror(-error)) : 0;
}

int run_prepare(struct run *run)
{
	_cleanup_close_ int workdir_fd = -1;
	const struct run_options *options = &run->options;

	if (cli_host_init(&run->host, options->argv[0]) < 0)
		return run_no_memory(run);
	run->host_ready = true;
	if (prepare_find_user(run) != 0 || prepare_as_user(run, &workdir_fd) != 0)
		return CLI_ERROR;
	/* Before the policy is loaded: its rules may name the copies (-x @workdir/tool). */
	if (options->input.count && prepare_copy_inputs(run, workdir_fd) != 0)
		return CLI_ERROR;
	if (prepare_load_policies(run) != 0)
		return CLI_ERROR;
	prepare_warnings(run);
	if (prepare_confirm_user(run) != 0 || prepare_warn_workdir(run) != 0 || prepare_make_logs(run) != 0)
		return CLI_ERROR;
	account_end();
	if (options->output && prepare_open_output(run) != 0)
		return CLI_ERROR;
	return run->user.set && run->user.uid != geteuid() ? run_start_custodian(run) : 0;
}
