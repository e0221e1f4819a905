/* Judges the rights on a place, for every kind of mount. Called for each path of each call. */
#include <errno.h>
#include <string.h>

#include "policy/paths/shown.h"
#include "view/private.h"

static struct policy_decision judge_make_denial(int error, const char *reason)
{
	return (struct policy_decision){.verdict = VERDICT_DENY, .error = error, .reason = reason};
}

static struct policy_decision judge_make_provide_decision(const char *reason)
{
	return (struct policy_decision){.verdict = VERDICT_PROVIDE, .reason = reason};
}

/* Decides about a path of /proc: the run's processes and files on an allowlist. */
static struct policy_decision judge_proc_path(const struct view *view, const struct task *task,
					      const struct place *place, unsigned want)
{
	const char *rest = view_get_path_below_proc(place);
	enum proc_kind kind;

	/* Such as /proc/self/fd/3, which file_pin_path() lets the target open only as its descriptor 3 was opened. */
	if (place->is_magic_link)
		return judge_make_provide_decision("own_descriptor");
	kind = proc_classify_path(view, task, rest);
	if (kind == PROC_ABSENT)
		return judge_make_denial(ENOENT, "proc_not_listed");
	if (want & POLICY_EXEC)
		return judge_make_denial(EACCES, "not_executable");
	if (want & POLICY_WRITE && !proc_file_is_writable(rest))
		return judge_make_denial(EACCES, "proc_read_only");
	return judge_make_provide_decision("proc");
}

/* Refuses a write that must go to the scratch directory, when no overlay was possible there. */
static struct policy_decision judge_refuse_write_without_overlay(const struct mount *mount,
								 struct policy_decision decision, unsigned want)
{
	if (decision.verdict == VERDICT_DENY || !(want & POLICY_WRITE) || !(mount->flags & MOUNT_LACKS_OVERLAY))
		return decision;
	if (decision.observed_denial.error)
		return (struct policy_decision){.verdict = VERDICT_DENY,
						.error = decision.observed_denial.error,
						.rule = decision.observed_denial.rule,
						.reason = decision.observed_denial.reason,
						.wanted_rights = want};
	return judge_make_denial(EROFS, "no_overlay");
}

/*
 * Whether a path of the host has a directory of runs (keeper/scratch-base.c) of this user on it. It may be that of runs
 * with another TMPDIR; what a program makes there these would take for theirs, such as a workspace of any directory.
 */
static bool judge_is_of_other_runs(const struct mount *mount, const char *path)
{
	const char *name = mount->view->runs_name;
	const size_t len = strlen(name);

	if (len == 0 || mount->flags & MOUNT_PRIVATE)
		return false;
	for (const char *at = strstr(path, name); at; at = strstr(at + 1, name)) {
		const size_t more = strcspn(at + len, "/");

		if ((at == path || at[-1] == '/') && (more == 0 || (more == strlen("-XXXXXX") && at[len] == '-')))
			return true;
	}
	return false;
}

struct policy_decision view_judge_place(const struct view *view, const struct task *task, const struct place *place,
				  unsigned want)
{
	const struct mount *mount = place->mount;

	if (mount->flags & MOUNT_PROC)
		return judge_proc_path(view, task, place, want);
	if (mount->flags & MOUNT_DEV_PTS && terminals_place_is_foreign_slave(place, want & POLICY_WRITE))
		return judge_make_denial(ENOENT, "not_granted");
	if (mount->flags & MOUNT_DEV_PTS && want & POLICY_WRITE && terminals_place_is_dev_pts(place))
		return judge_make_denial(EROFS, "read_only");
	if (mount->flags & (MOUNT_DEVICE | MOUNT_CALLGATE_FILE))
		return policy_decide_provided(view->policy, place->virt, place->virt_len, want,
					      mount->flags & MOUNT_DEVICE);
	if (mount->flags & MOUNT_SKELETON && view_is_covered(place))
		return judge_make_denial(ENOENT, "not_granted");
	if (want & POLICY_WRITE && judge_is_of_other_runs(mount, place->path_below_mount_fd))
		return judge_make_denial(EACCES, "not_granted");
	return judge_refuse_write_without_overlay(mount,
						  policy_decide_place(view->policy, place->virt, place->virt_len, want,
								      mount->flags & MOUNT_SKELETON),
						  want);
}
