/* What a run needs before it begins, and as whom: user, places, inputs, policy, log, --output. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "audit/audit.h"
#include "base/cleanup.h"
#include "base/shared.h"
#include "cli/cli.h"
#include "cli/run-private.h"
#include "cli/user.h"
#include "policy/net.h"
#include "supervisor/input.h"
#include "supervisor/output.h"
#include "supervisor/selffilter.h"

#include "base/banned.h"

static int prepare_places(struct run *run)
{
	struct policy_error error = {""};
	int made;

	/* Where nothing is put into it before, its directories are made later, when nobody waits for them. */
	run->scratch_bare = !run->user.set && !run->options.input.count && !run->options.setup;
	made = run->scratch_bare ? scratch_begin(&run->scratch, &error) : scratch_create(&run->scratch, &error);
	if (made < 0)
		return run_refuse(run, "scratch_failed", "%s", error.text);
	run->scratch_ready = true;
	if (run->options.policy.workdir)
		run->workdir = strdup(run->options.policy.workdir);
	else if (asprintf(&run->workdir, "%s/work", run->scratch.path) < 0)
		run->workdir = NULL;
	if (!run->workdir)
		return run_refuse(run, "out_of_memory", "out of memory");
	return 0;
}

static int check_workdir(struct run *run, int *ret_fd)
{
	char who[64] = "you";

	if (run->scratch_bare && !run->options.policy.workdir)
		return 0; /* it will be ours */
	if (run->user.set)
		(void)snprintf(who, sizeof(who), "user %u", run->user.uid);
	*ret_fd = open(run->workdir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (*ret_fd < 0 || faccessat(*ret_fd, ".", R_OK | X_OK, AT_EACCESS) < 0)
		return run_refuse(run, "workdir_unusable", "-w %s: %s; name a directory that %s can read", run->workdir,
				  strerror(errno), who);
	return 0;
}

/* What is made here is the user's, and where he has no way in the run has none. */
static int prepare_as_user(struct run *run, int *ret_workdir_fd)
{
	struct privs_before before;
	int exit_code, error = privs_borrow(&run->user, &before);

	if (error < 0)
		return run_refuse(run, "user_failed", "cannot become user %u: %s", run->user.uid, strerror(-error));
	exit_code = prepare_places(run);
	if (exit_code == 0)
		exit_code = check_workdir(run, ret_workdir_fd);
	error = privs_return(&before);
	if (error < 0 && exit_code == 0)
		exit_code = run_refuse(run, "user_failed", "cannot return from user %u: %s", run->user.uid,
				       strerror(-error));
	return exit_code;
}

/* --user, else what the policy names, which has to be known before there is a place for the run's files. */
static int find_user(struct run *run)
{
	const struct cli_policy_options *options = &run->options.policy;
	_cleanup_free_ char *named = NULL;
	const char *text = options->user;
	struct policy_error error = {""};

	/* Only root can be asked to become somebody: for all others it is enough to refuse it later. */
	if (!text && options->names.count > 0 && geteuid() == 0)
		run->draft = policy_peek((const char *const *)options->names.item, &run->host.policy, &named);
	if (!text)
		text = named;
	if (text && cli_user_find(named ? "the policy's user" : "--user", text, &run->user, &error) < 0)
		return run_refuse(run, "user_failed", "%s", error.text);
	if (run->user.set) {
		run->host.uid = run->user.uid;
		run->host.gid = run->user.gid;
	}
	return 0;
}

/* That the policy, as it was compiled, names whom we prepared for: ourselves, when it names nobody. */
static int confirm_user(struct run *run)
{
	const char *text = policy_user(run->policy);
	struct privs_user user = {.set = false};
	struct policy_error error = {""};

	if (text && cli_user_find(run->options.policy.user ? "--user" : "the policy's user", text, &user, &error) < 0)
		return run_refuse(run, "user_failed", "%s", error.text);
	if (user.set != run->user.set || user.uid != run->user.uid || user.gid != run->user.gid)
		return run_refuse(run, "user_failed",
				  "the policy's user has changed since it was first read; try again");
	return 0;
}

/* His rights are not ours to change; that the policy grants more than he has is worth a word. */
static int warn_workdir(struct run *run)
{
	const char *virt = policy_workdir(run->policy);
	struct privs_before before;
	int error;

	if (!run->user.set || !run->options.policy.workdir || run->options.quiet ||
	    !(policy_rights(run->policy, virt, strlen(virt)) & POLICY_WRITE))
		return 0;
	error = privs_borrow(&run->user, &before);
	if (error == 0 && faccessat(AT_FDCWD, run->workdir, W_OK, AT_EACCESS) < 0)
		(void)fprintf(stderr, "callgate: -w %s: user %u may not write there (%s), whatever the policy grants\n",
			      run->workdir, run->user.uid, strerror(errno));
	if (error == 0)
		error = privs_return(&before);
	return error == 0
		       ? 0
		       : run_refuse(run, "user_failed", "cannot become user %u: %s", run->user.uid, strerror(-error));
}

const char *run_log_path(const struct run *run)
{
	return run->options.audit ? run->options.audit : policy_audit_file(run->policy);
}

/* With another user: the log is the caller's, where only he may be able to make it. Otherwise the supervisor does. */
static int make_log(struct run *run, const char *path, int *ret_fd, char **ret_path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;
	_cleanup_free_ char *parent = path ? strndup(path, slash ? (size_t)(slash - path) + 1 : 0) : NULL, *real = NULL;

	if (!path || !run->user.set)
		return 0;
	*ret_fd = audit_make(path);
	if (*ret_fd == -EEXIST)
		return run_refuse(run, "audit_failed", "the log %s exists; remove it or name another file", path);
	if (*ret_fd < 0)
		return run_refuse(run, "audit_failed", "cannot write the log %s: %s", path, strerror(-*ret_fd));
	real = parent ? realpath(*parent ? parent : ".", NULL) : NULL;
	if (!real || asprintf(ret_path, "%s/%s", strcmp(real, "/") == 0 ? "" : real, slash ? slash + 1 : path) < 0) {
		*ret_path = NULL; /* undefined after a failure */
		return run_refuse(run, "audit_failed", "cannot write the log %s: %s", path, strerror(errno));
	}
	return 0;
}

/* The setup's log is one of its own, beside the program's. */
static int make_logs(struct run *run)
{
	const char *path = run_log_path(run);

	if (path && run->options.setup && asprintf(&run->setup_log, "%s.setup", path) < 0) {
		run->setup_log = NULL; /* undefined after a failure */
		return run_refuse(run, "out_of_memory", "out of memory");
	}
	if (make_log(run, path, &run->audit_fd, &run->audit) != 0)
		return CLI_ERROR;
	return make_log(run, run->setup_log, &run->setup_audit_fd, &run->setup_audit);
}

int run_load_policy(struct run *run, enum policy_phase phase, struct policy **ret_policy)
{
	struct cli_policy_options options = run->options.policy; /* a view of them: theirs stay theirs */

	options.phase = phase;
	options.draft = run->draft; /* empty after the first */
	if (cli_policy_load(&options, "run", &run->host, run->scratch.path, ret_policy) < 0)
		return run_refuse(run, "policy_invalid", "the policy cannot be used: nothing was run");
	if (!run->scratch_ready) /* undo_scratch() was called, and the exec failed after all */
		return run_refuse(run, "setup_failed", "the program with shared libraries cannot be started");
	return 0;
}

static int load_policies(struct run *run)
{
	const struct run_options *options = &run->options;

	if (run_load_policy(run, options->policy.phase, &run->policy) != 0)
		return CLI_ERROR;
	if (options->setup && run_load_policy(run, POLICY_PHASE_SETUP, &run->setup_policy) != 0)
		return CLI_ERROR;
	return 0;
}

static void warn_of_policies(const struct run *run)
{
	const struct run_options *options = &run->options;

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

/* What is known to need the program with shared libraries, or does what undo_scratch() could not undo. */
static bool is_for_shared(const struct run *run)
{
	const struct cli_policy_options *options = &run->options.policy;

	return run->user.set || run->options.input.count || options->allow_host.count || options->allow.count ||
	       options->secret.count;
}

static int become_shared(struct run *run)
{
	const char *why;

	return shared_program(&why) == 0 ? 0 : run_refuse(run, "setup_failed", "this run %s", why);
}

/* Before there is a log, or a directory for --output, and before anything is said, which would be said twice. */
static int load_as_shared(struct run *run)
{
	if (load_policies(run) != 0)
		return CLI_ERROR;
	if ((policy_net_enabled(run->policy) || (run->setup_policy && policy_net_enabled(run->setup_policy))) &&
	    become_shared(run) != 0)
		return CLI_ERROR;
	warn_of_policies(run);
	return 0;
}

int run_prepare(struct run *run)
{
	struct policy_error error = {""};
	_cleanup_close_ int workdir_fd = -1;
	const struct run_options *options = &run->options;

	if (cli_host_init(&run->host, options->argv[0]) < 0)
		return run_refuse(run, "out_of_memory", "out of memory");
	run->host_ready = true;
	if (find_user(run) != 0 || (is_for_shared(run) && become_shared(run) != 0) ||
	    prepare_as_user(run, &workdir_fd) != 0)
		return CLI_ERROR;
	/* Before the policy, whose rules may name them (-x @workdir/tool). */
	if (input_copy(workdir_fd, options->input.item, options->input.count, &run->user, &error) < 0)
		return run_refuse(run, "input_failed", "%s", error.text);
	if (load_as_shared(run) != 0 || confirm_user(run) != 0 || warn_workdir(run) != 0 || make_logs(run) != 0)
		return CLI_ERROR;
	if (options->output) {
		run->output_fd = output_open(options->output, &error);
		if (run->output_fd < 0)
			return run_refuse(run, "output_failed", "%s", error.text);
	}
	return run->user.set && run->user.uid != geteuid() ? run_start_custodian(run) : 0;
}
