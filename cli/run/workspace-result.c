/* --cow: what the result of a run says of its workspace. */
#include <jansson.h>

#include "base/cleanup.h"
#include "cli/run/private.h"
#include "supervisor/report.h"
#include "workspace/fold.h"
#include "workspace/store.h"

/* What the result says of the workspace. Owned by the caller; NULL: no memory. */
static json_t *workspace_make_json(const struct run *run)
{
	json_t *dirs = json_array();

	for (size_t i = 0; i < run->workspace_dirs.count; i++)
		(void)json_array_append_new(
			dirs, json_pack("{s:o, s:s}", "dir", report_make_text_json(run->workspace_dirs.item[i]), "by",
					workspace_is_copy(run->workspace_fd, i) ? "copy" : "overlay"));
	return json_pack("{s:s, s:O, s:O, s:o}", "id", run->scratch.id, "dir",
			 json_object_get(json_array_get(dirs, 0), "dir"), "by",
			 json_object_get(json_array_get(dirs, 0), "by"), "directories", dirs);
}

/* Tells where what was written to directory `at` is. */
static void workspace_tell(const struct run *run, size_t at)
{
	const char *dir = run->workspace_dirs.item[at];

	if (workspace_dir_is_empty(run->workspace_fd, at, dir))
		cli_note("callgate: nothing was written to %s; its workspace is %s (callgate ws discard)", dir,
			 run->scratch.id);
	else
		cli_note("callgate: what was written to %s is in the workspace %s (callgate ws list)", dir,
			 run->scratch.id);
}

void run_report_workspace(struct run *run, bool has_failed, json_t *result)
{
	if (run->workspace_fd < 0 || run->is_setup_process || (has_failed && workspace_is_empty(run->workspace_fd)))
		return;
	(void)json_object_set_new(result, "workspace", workspace_make_json(run));
	for (size_t i = 0; i < run->workspace_dirs.count && !run->options.json && !run->options.is_quiet; i++)
		workspace_tell(run, i);
	close_fd(&run->workspace_fd);
}
