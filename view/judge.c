/* One question for every kind of mount: may this be read, written, run? */
#include <errno.h>
#include <string.h>

#include "view/private.h"
#include "view/tree.h"

#include "base/banned.h"

static struct policy_decision deny(int error, const char *reason)
{
	return (struct policy_decision){.verdict = VERDICT_DENY, .error = error, .reason = reason};
}

static struct policy_decision provide(const char *reason)
{
	return (struct policy_decision){.verdict = VERDICT_PROVIDE, .reason = reason};
}

static struct policy_decision judge_proc(const struct view *view, const struct task *task, const struct place *place,
					 unsigned want)
{
	const char *rest = place->virt_len > place->mount->virt_len ? place->rest : "";
	enum proc_kind kind;

	if (place->magic) /* an object without a name that one of the run's processes holds: see file_pin */
		return provide("own_descriptor");
	kind = proc_classify(view, task, rest);
	if (kind == PROC_ABSENT)
		return deny(ENOENT, "proc_not_listed");
	if (want & POLICY_EXEC)
		return deny(EACCES, "not_executable");
	if (want & POLICY_WRITE && !proc_writable(task, rest))
		return deny(EACCES, "proc_read_only");
	return provide("proc");
}

/* What the run's network takes to be found, whatever the policy grants; a rule that denies it is heeded. */
static struct policy_decision judge_run(const struct place *place, unsigned want)
{
	struct policy_decision rule =
		policy_decide(place->mount->view->policy, place->virt, place->virt_len, POLICY_READ);

	if (rule.verdict == VERDICT_DENY && rule.error == EACCES)
		return rule;
	if (want & POLICY_EXEC)
		return deny(EACCES, "not_executable");
	return want & POLICY_WRITE ? deny(EROFS, "read_only") : provide("network");
}

static struct policy_decision judge_device(const struct place *place, unsigned want)
{
	struct policy_decision rule =
		policy_decide(place->mount->view->policy, place->virt, place->virt_len, POLICY_READ);

	if (rule.verdict == VERDICT_DENY && rule.error == EACCES)
		return rule;
	return want & POLICY_EXEC ? deny(EACCES, "not_executable") : provide("device");
}

struct policy_decision view_judge(const struct view *view, const struct task *task, const struct place *place,
				  unsigned want)
{
	const struct mount *mount = place->mount;
	struct policy_decision decision;

	if (mount->flags & MOUNT_PROC)
		return judge_proc(view, task, place, want);
	if (mount->flags & MOUNT_DEVICE)
		return judge_device(place, want);
	if (mount->flags & MOUNT_RUN)
		return judge_run(place, want);
	if (mount->flags & MOUNT_SKELETON && view_in_hole(place))
		return deny(ENOENT, "not_granted");
	decision = policy_decide(view->policy, place->virt, place->virt_len, want);
	if (decision.verdict != VERDICT_DENY || decision.reason == NULL)
		return decision;
	/* A deny rule speaks for itself. What is merely not granted may still be an ancestor of something that is. */
	if (policy_rights(view->policy, place->virt, place->virt_len) != 0 || decision.error == EACCES)
		return decision;
	if (mount->flags & MOUNT_SKELETON || policy_may_hold(view->policy, place->virt, place->virt_len)) {
		if (want & POLICY_EXEC)
			return deny(EACCES, "not_executable");
		if (want & POLICY_WRITE)
			return deny(EROFS, "read_only");
		return provide("ancestor");
	}
	return decision;
}
