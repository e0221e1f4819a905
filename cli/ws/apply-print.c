/* What callgate ws apply says of conflicts, and prints of what it has applied. */
#include <jansson.h>

#include "cli/cli.h"
#include "cli/ws/apply-private.h"
#include "cli/ws/apply.h"
#include "cli/ws/conflict.h"
#include "cli/ws/show.h"
#include "workspace/journal.h"

/*
 * Writes the versions of a conflict beside its file. With --theirs, a conflict is what was changed outside during the
 * apply, which must not be overwritten unseen.
 */
static void apply_write_conflict(struct apply *apply, const struct workspace_change *change,
				 struct ws_conflict *conflict)
{
	if (apply->plan->words.theirs) {
		conflict->not_beside = "--theirs writes none, another ws apply takes it";
		return;
	}
	if (!apply_check_journal(apply, journal_begin(apply->journal_fd, change->path, 0, true)))
		return;
	ws_conflict_write(apply->plan, change, apply->temporary, conflict);
	(void)apply_check_journal(apply, journal_end(apply->journal_fd, true));
}

void apply_tell_conflicts(struct apply *apply)
{
	const struct plan *plan = apply->plan;
	size_t written = 0;

	for (size_t i = 0; i < plan->changes.count; i++) {
		const struct workspace_change *change = &plan->changes.item[i];
		struct ws_conflict conflict;

		if (plan->state[i] != PLAN_CONFLICT || !plan->why[i])
			continue;
		ws_conflict_find(plan, change, &conflict);
		if (!apply->failed && ws_conflict_is_beside(change, &conflict)) {
			if (++written <= WS_CONFLICTS_BESIDE_MAX)
				apply_write_conflict(apply, change, &conflict);
			else
				conflict.not_beside = "there are more than 1,000 conflicts";
		}
		if (apply->conflict)
			apply->conflict[i] = ws_conflict_make_json(&conflict);
		else
			ws_conflict_tell(plan, change, &conflict);
	}
}

/* Prints what became of a change as JSON. 0 or -errno. */
static int apply_print_json(const struct apply *apply, size_t at)
{
	static const char *const words[] = {
		[PLAN_APPLY] = "applied",       [PLAN_KEEP] = "kept",     [PLAN_CONFLICT] = "conflict",
		[PLAN_EXECUTED] = "runs_later", [PLAN_FAILED] = "failed",
	};
	const struct plan *plan = apply->plan;
	const unsigned char state = plan->state[at];
	const bool is_held = state >= PLAN_CONFLICT && !plan->why[at];
	struct show_result result = {
		.word = state == PLAN_APPLY && apply->failed ? "unknown" : words[state],
		.why = is_held               ? "what it belongs to was not applied"
		       : state == PLAN_APPLY ? NULL
					     : plan->why[at],
	};
	json_t *conflict = apply->conflict[at];

	apply->conflict[at] = NULL;
	return show_json(plan->dir, &plan->changes.item[at], conflict, NULL, &result);
}

/* Prints what became of a change, if it is selected; as a line, only what was applied. 0 or -errno. */
static int apply_print_change(const struct apply *apply, size_t at)
{
	const unsigned char state = apply->plan->state[at];

	if (apply->conflict)
		return state == PLAN_UNSELECTED ? 0 : apply_print_json(apply, at);
	return state == PLAN_APPLY && !apply->failed
		       ? show_line(apply->plan->dir, &apply->plan->changes.item[at], false)
		       : 0;
}

int apply_print(const struct apply *apply)
{
	bool not_all = apply->plan->changes.has_lost, failed = apply->failed || apply->is_unfinished;

	for (size_t i = 0; i < apply->plan->changes.count; i++) {
		const unsigned char state = apply->plan->state[i];

		if (apply_print_change(apply, i) < 0)
			return cli_fail_no_memory(APPLY_VERB);
		not_all |= state == PLAN_CONFLICT || state == PLAN_EXECUTED;
		failed |= state == PLAN_FAILED;
	}
	if (cli_print_text(APPLY_VERB, "") != CLI_EXIT_OK || failed)
		return CLI_EXIT_ERROR;
	return not_all ? WS_EXIT_NOT_ALL : CLI_EXIT_OK;
}
