/* --cow, and "workspace" of the policy: makes the workspace of a run. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/text.h"
#include "cli/run/private.h"
#include "workspace/store.h"

/* True when something is looked at before the program starts: --inspect, or "inspect" of the policy. */
static bool workspace_run_inspects(const struct run *run, const struct policy_settings *settings)
{
	return run->options.inspects || settings->refused_findings || settings->warned_findings ||
	       settings->module_count > 0;
}

/* Returns why what the phases' policies say does not go with a workspace, static, or NULL. */
static const char *workspace_find_conflict(const struct run *run, const struct policy_settings *settings)
{
	const bool keeps_workdir = run->options.uses_workspace && run->options.policy.workdir;
	const bool writes_first = run->options.setup_command || (run->options.input_paths.count > 0 && keeps_workdir);

	if (!keeps_workdir && settings->workspace_dir_count == 0)
		return NULL;
	if (writes_first && workspace_run_inspects(run, settings))
		return "what --setup and --input write is in the workspace, where --inspect does not look; leave out "
		       "one of them";
	return NULL;
}

int run_heed_workspace_of_policy(struct run *run)
{
	const struct policy_settings *settings = policy_get_settings(run->program_phase.policy);
	const bool by_option = run->options.uses_workspace || run->options.workspace_dirs.count > 0;
	const char *wrong;

	if (settings->workspace == POLICY_WORKSPACE_COW)
		run->options.uses_workspace = true;
	wrong = run_find_conflict_with_workspace(&run->options, settings->workspace_dir_count > 0);
	wrong = wrong ? wrong : workspace_find_conflict(run, settings);
	return wrong ? run_report_refusal(run, "workspace_failed", "%s%s",
					  by_option ? "" : "\"workspace\" of the policy is as --cow: ", wrong)
		     : 0;
}

/* ---- its directories ---- */

/* Refuses a directory of a policy that is in the directory of -w, or has it in it. 0, or the exit status. */
static int workspace_check_dir(struct run *run, const char *path)
{
	if (!path_is_below(path, run->workdir) && !path_is_below(run->workdir, path))
		return 0;
	return run_report_refusal(run, "workspace_failed",
				  "--cow: %s and the directory of -w, %s, are in one another; name one", path,
				  run->workdir);
}

/* Adds the directories that stay as they are by this policy. 0, or the exit status. */
static int workspace_collect_dirs(struct run *run, const struct policy *policy, struct cli_list *dirs)
{
	const struct policy_settings *settings = policy_get_settings(policy);
	const bool keeps_workdir = run->options.policy.workdir && run->options.uses_workspace;
	int exit_code = 0, error = keeps_workdir ? cli_list_add_owned(dirs, strdup(run->workdir)) : 0;

	for (size_t i = 0; exit_code == 0 && error == 0 && i < settings->workspace_dir_count; i++) {
		if (keeps_workdir && strcmp(settings->workspace_dir[i], run->workdir) == 0)
			continue;
		if (keeps_workdir)
			exit_code = workspace_check_dir(run, settings->workspace_dir[i]);
		error = cli_list_add_owned(dirs, strdup(settings->workspace_dir[i]));
	}
	if (error < 0)
		return run_refuse_no_memory(run);
	if (exit_code == 0 && dirs->count > WORKSPACE_DIRS_MAX)
		exit_code = run_report_refusal(run, "workspace_failed", "--cow: more than %d directories",
					       WORKSPACE_DIRS_MAX);
	return exit_code;
}

int run_check_workspace_again(struct run *run, const struct policy *policy)
{
	_cleanup_list_ struct cli_list dirs = {NULL, 0};
	const int exit_code = workspace_collect_dirs(run, policy, &dirs);
	bool is_same = dirs.count == run->workspace_dirs.count;

	if (exit_code)
		return exit_code;
	for (size_t i = 0; is_same && i < dirs.count; i++)
		is_same = strcmp(dirs.item[i], run->workspace_dirs.item[i]) == 0;
	return is_same ? 0
		       : run_report_refusal(run, "workspace_failed",
					    "--cow: the setup has changed where a directory of \"workspace\" is; name "
					    "its canonical path");
}

/*
 * Refuses a directory that TMPDIR is in: a copy would be copied into itself, and with an overlay the run would write to
 * the directory that is to stay as it is. 0, or the exit status.
 */
static int workspace_check_scratch(struct run *run)
{
	for (size_t i = 0; i < run->workspace_dirs.count; i++)
		if (path_is_below(run->scratch.base_path, run->workspace_dirs.item[i]))
			return run_report_refusal(run, "workspace_failed",
						  "--cow: %s has TMPDIR in it, where what is written is kept; set "
						  "TMPDIR to a directory outside",
						  run->workspace_dirs.item[i]);
	return 0;
}

/* Notes which directories are of another user or group than that of the run. */
static void workspace_note_foreign_dirs(struct run *run)
{
	const uid_t uid = run->user.set ? run->user.uid : geteuid();
	const gid_t gid = run->user.set ? run->user.gid : getegid();
	struct stat st;

	for (size_t i = 0; i < run->workspace_dirs.count; i++)
		if (stat(run->workspace_dirs.item[i], &st) == 0 && (st.st_uid != uid || st.st_gid != gid))
			run->foreign_workspace_dirs |= UINT64_C(1) << i;
}

int run_make_workspace(struct run *run)
{
	const struct scratch *scratch = &run->scratch;
	int fd, exit_code = workspace_collect_dirs(run, run->program_phase.policy, &run->workspace_dirs);

	if (exit_code == 0 && run->setup_phase.policy)
		exit_code = run_check_workspace_again(run, run->setup_phase.policy);
	if (exit_code == 0)
		exit_code = workspace_check_scratch(run);
	if (exit_code || run->workspace_dirs.count == 0)
		return exit_code;
	workspace_note_foreign_dirs(run);
	run->workspace_path = text_format("%s/" WORKSPACE_DIR_NAME "/%s", scratch->base_path, scratch->id);
	if (!run->workspace_path)
		return run_refuse_no_memory(run);
	fd = workspace_create(scratch->base_fd, scratch->id, (const char *const *)run->workspace_dirs.item,
			      run->workspace_dirs.count);
	if (fd < 0)
		return run_report_refusal(run, "workspace_failed",
					  "--cow: cannot make the workspace %s: %s; free some room or set TMPDIR to "
					  "another directory",
					  run->workspace_path, strerror(-fd));
	run->workspace_fd = fd;
	return 0;
}
