#include "cli/ws/conflict.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "cli/cli.h"
#include "supervisor/report.h"
#include "workspace/beside.h"

#define CONFLICT_VERB "ws apply"

/* ---- where the versions are ---- */

/* Sets a path below an open directory. Without the directory's name, it is relative. */
static void ws_conflict_set_path(char out[2 * PATH_MAX], int dir_fd, const char *path)
{
	char dir[PATH_MAX] = "";

	(void)io_read_fd_name(dir_fd, dir);
	(void)snprintf(out, 2 * (size_t)PATH_MAX, "%s/%s", dir, path);
}

void ws_conflict_find(const struct plan *plan, const struct workspace_change *change, struct ws_conflict *ret_conflict)
{
	char text[PATH_MAX];

	*ret_conflict = (struct ws_conflict){.base = ""};
	if (workspace_bases_find(&plan->bases, plan->layer, change, text))
		ws_conflict_set_path(ret_conflict->base, plan->layer->dir_fd, text);
	else
		memcpy(ret_conflict->no_base, text, sizeof(text));
	if (change->base.exists)
		ws_conflict_set_path(ret_conflict->ours, plan->layer->base_fd, change->path);
	if (change->upper.exists)
		ws_conflict_set_path(ret_conflict->theirs, plan->layer->upper_fd, change->path);
}

/* ---- beside the file ---- */

bool ws_conflict_is_beside(const struct workspace_change *change, const struct ws_conflict *conflict)
{
	if (!*conflict->base && !*conflict->theirs) /* the only version would be the file itself */
		return false;
	if (!(change->base.exists && S_ISREG(change->base.mode)) &&
	    !(change->upper.exists && S_ISREG(change->upper.mode)))
		return false;
	return change->kind != WORKSPACE_MODIFIED || change->differences & WORKSPACE_CONTENT_DIFFERS;
}

/* Why a version was not written (static). */
static const char *ws_conflict_explain(int error)
{
	switch (error) {
	case -EFBIG:
		return "larger than 64 MiB, and the file system cannot clone it";
	case -ENAMETOOLONG:
		return "the name would be too long";
	case -EEXIST:
		return "all names for it are taken";
	case -EBUSY:
		return "an entry there has the name of ours, .callgate-ID";
	case -ENOENT:
	case -ENOTDIR:
	case -ELOOP:
		return "its directory is not there";
	default:
		return strerror(-error);
	}
}

/* Writes one version, whose path is below root_fd. Sets its path to that of the copy. */
static void ws_conflict_write_version(const struct plan *plan, const struct workspace_change *change, const char *word,
				      int root_fd, const char *path, const char *temporary,
				      char inout_path[2 * PATH_MAX], const char **why)
{
	_cleanup_close_ int from = workspace_open_entry(root_fd, path);
	const char *slash = strrchr(change->path, '/');
	char name[NAME_MAX + 1], copy[PATH_MAX + NAME_MAX];
	int r = from < 0 ? from : workspace_write_beside(plan->layer, change, word, from, temporary, name);

	if (r < 0 && r != -EINVAL) /* what is no regular file stays where it is */
		*why = ws_conflict_explain(r);
	if (r < 0)
		return;
	(void)snprintf(copy, sizeof(copy), "%.*s%s", slash ? (int)(slash - change->path) + 1 : 0, change->path, name);
	ws_conflict_set_path(inout_path, plan->layer->base_fd, copy);
}

void ws_conflict_write(const struct plan *plan, const struct workspace_change *change, const char *temporary,
		       struct ws_conflict *conflict)
{
	const struct workspace_layer *layer = plan->layer;
	char base[PATH_MAX];

	conflict->not_beside = ws_plan_find_runs_later(plan, change);
	if (conflict->not_beside) /* a program that reads all files of a directory would obey the versions as well */
		return;
	if (*conflict->base && workspace_bases_find(&plan->bases, layer, change, base))
		ws_conflict_write_version(plan, change, "base", layer->dir_fd, base, temporary, conflict->base,
					  &conflict->not_beside);
	if (*conflict->ours)
		ws_conflict_write_version(plan, change, "ours", layer->base_fd, change->path, temporary, conflict->ours,
					  &conflict->not_beside);
	if (*conflict->theirs)
		ws_conflict_write_version(plan, change, "theirs", layer->upper_fd, change->path, temporary,
					  conflict->theirs, &conflict->not_beside);
}

/* Text as JSON; null: it is empty. */
static json_t *ws_conflict_make_text(const char *text)
{
	return report_make_text_json(*text ? text : NULL);
}

json_t *ws_conflict_make_json(const struct ws_conflict *conflict)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:o}", "base", ws_conflict_make_text(conflict->base), "no_base",
			 ws_conflict_make_text(conflict->no_base), "ours", ws_conflict_make_text(conflict->ours),
			 "theirs", ws_conflict_make_text(conflict->theirs), "not_beside",
			 report_make_text_json(conflict->not_beside));
}

void ws_conflict_tell(const struct plan *plan, const struct workspace_change *change,
		      const struct ws_conflict *conflict)
{
	char name[2 * PATH_MAX];

	cli_print_error(CONFLICT_VERB, "%s: conflict, not applied: %s; base: %s%s; ours: %s; theirs: %s%s%s",
			ws_plan_get_name(plan, change, name), plan->why[change - plan->changes.item],
			*conflict->base ? "" : "none, ", *conflict->base ? conflict->base : conflict->no_base,
			*conflict->ours                   ? conflict->ours
			: change->kind == WORKSPACE_ADDED ? "none"
							  : "deleted",
			*conflict->theirs ? conflict->theirs : "deleted",
			conflict->not_beside ? "; not all are written beside it: " : "",
			conflict->not_beside ? conflict->not_beside : "");
}
