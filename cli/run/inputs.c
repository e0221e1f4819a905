/* --input: judges the files, and copies them into the workdir or, with --cow, into the workspace. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "cli/load.h"
#include "cli/run/private.h"
#include "keeper/input.h"
#include "view/view.h"

/* Callback that notes that the path leads through a link. */
static void inputs_note_link(void *ctx, const char *link)
{
	bool *linked = ctx;

	(void)link;
	*linked = true;
}

/*
 * Judges inputs before they are copied: those that a symbolic link leads to, as the policies tell which links a run may
 * have created. And refuses them when the policy's "workspace" leaves the directory as it is.
 */
static int inputs_judge(struct run *run, struct input_file *file, size_t count)
{
	struct places_refusal why = {""};
	int exit_code = run_load_policies(run);

	if (exit_code == 0)
		exit_code = run_heed_workspace_of_policy(run);
	for (size_t i = 0; i < count && exit_code == 0; i++) {
		const struct writable_places places = run_collect_writable_places(run);

		free(file[i].path);
		file[i].path = NULL;
		if (places_judge_path(&places, PLACES_PATH_IS_GRANTED, file[i].path_as_given, &file[i].path, &why) < 0)
			exit_code = run_report_refusal(run, "path_refused", "--input %s %s", file[i].path_as_given,
						       why.text);
	}
	policy_free(run->program_phase.policy);
	policy_free(run->setup_phase.policy);
	run->program_phase.policy = run->setup_phase.policy = NULL;
	return exit_code;
}

/* Whether the directory of -w stays as it is, so that inputs go to the workspace. */
static bool inputs_go_to_workspace(const struct run *run)
{
	return run->options.uses_workspace && run->options.policy.workdir;
}

/* Copies inputs to a directory, in which and in the workdir their names must be free. 0, or the exit status. */
static int inputs_copy_to(struct run *run, int to_fd)
{
	struct policy_error error = {""};

	if (input_copy_files(run->workdir_fd, to_fd, run->input_file, run->options.input_paths.count, &run->user,
			     &error) < 0)
		return run_report_refusal(run, "input_failed", "%s", error.text);
	if (run->options.attest_path)
		run_hash_inputs(run, to_fd);
	run_release_inputs(run);
	return 0;
}

int run_copy_inputs(struct run *run)
{
	const struct cli_list *named = &run->options.input_paths;
	bool linked = false;
	int exit_code = 0;

	if (named->count == 0 && run->options.attest_path)
		run_hash_inputs(run, -1);
	if (named->count == 0)
		return 0;
	run->input_file = calloc(named->count + 1, sizeof(*run->input_file));
	if (!run->input_file)
		return run_refuse_no_memory(run);
	for (size_t i = 0; i < named->count; i++) {
		run->input_file[i].path_as_given = named->item[i];
		run->input_file[i].path = cli_resolve_real_path_noting_links(&run->host.path_cache, named->item[i],
									     inputs_note_link, &linked);
	}
	if (linked || (run->options.policy.workdir && run->options.policy.policy_names.count > 0))
		exit_code = inputs_judge(run, run->input_file, linked ? named->count : 0);
	return exit_code || inputs_go_to_workspace(run) ? exit_code : inputs_copy_to(run, run->workdir_fd);
}

/* Makes the directory for inputs. 0, or the exit status. */
static int inputs_make_dir(struct run *run)
{
	return mkdirat(run->workspace_fd, VIEW_INPUTS_DIR_NAME, 0700) < 0
		       ? run_report_refusal(run, "input_failed", "--input: no directory in the workspace: %s",
					    strerror(errno))
		       : 0;
}

int run_copy_inputs_to_workspace(struct run *run)
{
	_cleanup_close_ int fd = -1;

	if (run->options.input_paths.count == 0 || !inputs_go_to_workspace(run))
		return 0;
	if (!run->input_file) /* they were copied into a directory that was not to stay as it is */
		return run_report_refusal(run, "policy_changed",
					  "the policy's \"workspace\" has changed since it was first read; try again");
	if (run_call_with_user_ids(run, inputs_make_dir) != 0)
		return CLI_EXIT_ERROR;
	fd = io_open_dir(run->workspace_fd, VIEW_INPUTS_DIR_NAME);
	return fd < 0 ? run_report_refusal(run, "input_failed", "--input: no directory in the workspace: %s",
					   strerror(-fd))
		      : inputs_copy_to(run, fd);
}

void run_release_inputs(struct run *run)
{
	for (size_t i = 0; run->input_file && i < run->options.input_paths.count; i++)
		free(run->input_file[i].path);
	free(run->input_file);
	run->input_file = NULL;
}
