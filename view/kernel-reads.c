/*
 * "judge": "changes": makes the kernel, in the mount namespace of the run, let a program read what a judged run would.
 * What is not granted is not mounted. What is denied, private or not public is covered (kernel-reads-walk.c,
 * kernel-reads-cover.c), and so is what /proc would tell more than the view does (kernel-reads-proc.c).
 */
#include "view/kernel-reads.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mounts.h"
#include "base/path.h"
#include "policy/paths/below.h"

/* ---- the mounts of the kernel, compared with those of the view ---- */

/* Whether a mount keeps the kernel from judging reads: 1, with the reason noted. */
static int reads_find_obstacle_in_mount(struct kernel_reads *reads, const struct mount *mount)
{
	if (mount->flags & MOUNT_BY_GLOBS_ONLY)
		return reads_set_reason_to_judge_all(
			reads, "%s is granted by a pattern (%s), and a mount shows all of a directory", mount->virt,
			mount->rule);
	if (mount->flags & (MOUNT_OVERLAY | MOUNT_LACKS_OVERLAY))
		return reads_set_reason_to_judge_all(reads, "what is written to %s goes elsewhere", mount->virt);
	if (mount->layer && mount->layer->fills)
		return reads_set_reason_to_judge_all(reads, "files of %s get their content when they are opened",
						     mount->virt);
	if (mount->layer && reads->view->shares_layers_with_second_view)
		return reads_set_reason_to_judge_all(reads, "an answer may permit what a cover in %s would hide",
						     mount->virt);
	return 0;
}

/* Whether anything in the view keeps the kernel from judging reads: 1, with the reason noted. */
static int reads_find_obstacle_in_view(struct kernel_reads *reads)
{
	const struct view *view = reads->view;
	int r = 0;

	if (view->top != view->skeleton_mount)
		return reads_set_reason_to_judge_all(reads, "the policy grants /, which has more than the view shows");
	if (!view->proc_files_of_no_process)
		return reads_set_reason_to_judge_all(
			reads, "this takes a /proc that shows only processes of the run (Linux 5.8)");
	if (view->some_mount_is_unattached)
		return reads_set_reason_to_judge_all(reads, "%s cannot be mounted where the view has it",
				     view->first_unattached_mount ? view->first_unattached_mount->virt : "a grant");
	for (size_t i = 0; r == 0 && i < view->mount_count; i++)
		r = reads_find_obstacle_in_mount(reads, view->mount[i]);
	return r;
}

/* ---- names that the policy hides ---- */

/* Covers a name, if the policy hides it here. */
static int reads_cover_name_if_denied(struct kernel_reads *reads, const char *virt)
{
	const size_t len = strlen(virt);
	const struct policy_decision decision =
		policy_decide_access(reads->view->policy, virt, len, POLICY_READ);

	if (decision.verdict != VERDICT_DENY || path_is_below(virt, "/proc"))
		return 0;
	if (decision.error != EACCES && policy_may_grant_below(reads->view->policy, virt, len))
		return reads_set_reason_to_judge_all(reads, "%s is private (%s), but something below it is granted",
						    virt, decision.rule ? decision.rule : "by no grant");
	return covers_add(reads, virt, decision.error == EACCES ? COVER_DENIED : COVER_ABSENT);
}

/* Covers the name of a rule, also where a mount shows it by another path. */
static int reads_cover_path_of_rule(void *ctx, const struct policy_hidden_path *hidden)
{
	struct kernel_reads *reads = ctx;
	const struct view *view = reads->view;
	char virt[PATH_MAX];
	int r = hidden->glob ? 0 : reads_cover_name_if_denied(reads, hidden->path);

	for (size_t i = 0; r == 0 && !hidden->glob && i < view->mount_count; i++) {
		const struct mount *mount = view->mount[i];
		const char *rest = mount == view->skeleton_mount
					   ? NULL
					   : path_get_rest_below(hidden->path, mount->recorded_host_path);

		if (rest && strcmp(mount->virt, mount->recorded_host_path) != 0 &&
		    view_join_path(mount->virt, rest, virt, sizeof(virt)) > 0)
			r = reads_cover_name_if_denied(reads, virt);
	}
	return r;
}

/*
 * Covers the names that the view itself covers, such as the scratch directories of runs in a grant, so that they do not
 * exist for the program.
 */
static int reads_cover_names_covered_in_view(struct kernel_reads *reads)
{
	int r = 0;

	for (unsigned i = 0; r == 0 && i < VIEW_NODE_BUCKETS; i++)
		for (const struct view_node *node = reads->view->node_bucket[i]; node && r == 0; node = node->next)
			if (node_is_covered(node) && !path_is_below(node->virt, "/proc") &&
			    strcmp(node->virt, VIEW_PATHLESS_MOUNTS_DIR_PATH) != 0)
				r = covers_add(reads, node->virt, COVER_ABSENT);
	return r;
}

/*
 * A directory that has a covered name can be renamed. If another mount shows a part of the same tree at another path,
 * the directory could be moved to where that mount shows it without the cover.
 */
static int reads_check_covers_cannot_move_to_other_mount(struct kernel_reads *reads, const struct mount *outer)
{
	const struct view *view = reads->view;

	if (outer->flags & (MOUNT_OF_SINGLE_FILE | MOUNT_PROC | MOUNT_DEVICE | MOUNT_SKELETON) ||
	    !policy_may_write(view->policy, outer->virt))
		return 0;
	for (size_t i = 0; i < view->mount_count; i++) {
		const struct mount *mount = view->mount[i];
		const char *rest = mount->flags & MOUNT_OF_SINGLE_FILE
					   ? NULL
					   : path_get_rest_below(mount->recorded_host_path, outer->recorded_host_path);
		const char *virt = path_get_rest_below(mount->virt, outer->virt);

		if (rest && *rest && (!virt || strcmp(virt, rest) != 0))
			return reads_set_reason_to_judge_all(reads,
					     "%s shows a part of %s, where directories with denied names can move",
					     mount->virt, outer->virt);
	}
	return 0;
}

/*
 * Clones, without covers, the mounts in which a directory with a covered name can be renamed: the supervisor then still
 * sees what changed below a cover, and reports it.
 */
static int reads_clone_mounts_without_covers(const struct view *view)
{
	for (size_t i = 0; i < view->mount_count; i++) {
		struct mount *mount = view->mount[i];

		if (mount->flags & (MOUNT_OF_SINGLE_FILE | MOUNT_PROC | MOUNT_DEVICE | MOUNT_SKELETON) ||
		    !policy_may_write(view->policy, mount->virt))
			continue;
		mount->uncovered_fd = mounts_clone_tree(mount->fd, "");
		if (mount->uncovered_fd < 0)
			return mount->uncovered_fd;
	}
	return 0;
}

/* Covers names that match globs, and what is not public. */
static int reads_cover_names_that_match_globs(struct kernel_reads *reads)
{
	struct view *view = reads->view;
	const size_t before = reads->points;
	int r = reads_walk_mounts(reads);

	for (size_t i = before; r == 0 && i < reads->points; i++) {
		const char *virt = reads->point[i].virt;

		if (policy_get_rights(view->policy, virt, (size_t)(strrchr(virt, '/') - virt)) & POLICY_WRITE)
			view->covered_dir_can_be_renamed = true;
	}
	for (size_t i = 0; r == 0 && view->covered_dir_can_be_renamed && i < view->mount_count; i++)
		r = reads_check_covers_cannot_move_to_other_mount(reads, view->mount[i]);
	return r == 0 && view->covered_dir_can_be_renamed ? reads_clone_mounts_without_covers(view) : r;
}

/* ---- preparing the view for kernel reads ---- */

/* Makes the skeleton read-only, as access(2) tells in a judged run. Nothing needs to be made in it any more. */
static int reads_make_skeleton_read_only(const struct kernel_reads *reads)
{
	_cleanup_close_ int top = openat(reads->view->standin_fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);

	return top < 0 ? -errno : mounts_make_read_only(top);
}

/* Collects all that must be covered: denied paths, then names found in the mounts. */
static int reads_prepare_covers(struct kernel_reads *reads)
{
	int r = reads_find_obstacle_in_view(reads);

	reads->current_step = "look for denied names";
	if (r == 0 && reads->root_fd < 0)
		r = reads->root_fd;
	if (r == 0)
		r = policy_visit_hidden_paths(reads->view->policy, reads_cover_path_of_rule, reads);
	if (r == 0)
		r = reads_cover_names_covered_in_view(reads);
	if (r == 0)
		r = reads_cover_names_that_match_globs(reads);
	if (r == 0) {
		reads->current_step = "make covers for denied names";
		r = covers_make_objects(reads);
	}
	if (r == 0)
		r = covers_mount_all(reads);
	if (r == 0) {
		reads->current_step = "cover names of /proc";
		r = reads_prepare_proc(reads);
	}
	if (r == 0) {
		reads->current_step = "make the view's own directories read-only";
		r = reads_make_skeleton_read_only(reads);
	}
	return r;
}

const char *view_prepare_kernel_reads(struct view *view)
{
	struct kernel_reads reads = {.view = view,
				     .root_fd = openat2_retry(AT_FDCWD, "/", O_PATH | O_DIRECTORY, 0, 0),
				     .objects_dir_fd = -1,
				     .nondir_cover_fd = {-1, -1, -1},
				     .dir_cover_fd = {-1, -1, -1},
				     .uid = geteuid()};
	int r;

	view->program_proc_has_machine_files = true;
	r = reads_prepare_covers(&reads);
	if (r < 0)
		(void)reads_set_reason_to_judge_all(&reads, "cannot %s: %s", reads.current_step, strerror(-r));
	for (size_t i = 0; i < reads.points; i++)
		free(reads.point[i].virt);
	free(reads.point);
	for (unsigned i = 0; i < COVER_MAX; i++) {
		cleanup_close(&reads.nondir_cover_fd[i]);
		cleanup_close(&reads.dir_cover_fd[i]);
	}
	cleanup_close(&reads.objects_dir_fd);
	cleanup_close(&reads.root_fd);
	view->kernel_judges_reads = r == 0;
	view->covered_dir_can_be_renamed = view->covered_dir_can_be_renamed && r == 0;
	return r == 0 ? NULL : view->why_reads_are_judged;
}

bool view_kernel_judges_reads(const struct view *view)
{
	return view->kernel_judges_reads;
}

bool view_skips_walk_of_installed_files(const struct view *view)
{
	return view->skips_walk_of_installed_files;
}
