/* Finds where two runs differ: in their verdicts, outcomes, calls, processes, output, changed files and status. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/cli.h"
#include "cli/compare/align.h"
#include "cli/compare/compare.h"

/* The differences of one kind: how many there are, and the first in the order of the first run's log. */
struct difference {
	size_t differing_step_count;
	const struct trail_step *step, *other_step;
	const struct trail_process *process; /* the process of `step` */
};

/* The comparison of the trails of two runs. */
struct comparison {
	const struct trail *trail, *other;
	const struct trail_process *process, *other_process; /* the two processes whose steps are being aligned */
	const size_t *child, *other_child;                   /* the lists of child processes that are being aligned */
	/* owned: for each process of the first run its partner in the other run; ALIGN_NO_PARTNER: none */
	size_t *partner_in_other_run;
	struct difference verdict, outcome;
	size_t calls, calls_only, calls_other, processes, processes_only, processes_other;
	bool is_out_of_memory;
};

static bool texts_are_equal(const char *text, const char *other)
{
	return text && other ? strcmp(text, other) == 0 : text == other;
}

/* Counts a step that differs. Keeps the earliest one, by its record's number, as an example. */
static void difference_add_step(const struct comparison *comparison, struct difference *difference,
				const struct trail_step *step, const struct trail_step *other)
{
	difference->differing_step_count++;
	if (difference->step && difference->step->seq <= step->seq)
		return;
	difference->step = step;
	difference->other_step = other;
	difference->process = comparison->process;
}

/* The key by which steps of two processes are aligned. */
static uint64_t steps_get_key(const void *items, size_t index)
{
	return ((const struct trail_process *)items)->steps[index].key;
}

/* Callback of align_keys(): compares two aligned steps, or counts one without a partner. */
static void comparison_compare_steps(void *ctx, size_t first, size_t second)
{
	struct comparison *comparison = ctx;
	const struct trail_step *step, *other;

	if (first == ALIGN_NO_PARTNER || second == ALIGN_NO_PARTNER) {
		*(first == ALIGN_NO_PARTNER ? &comparison->calls_other : &comparison->calls_only) += 1;
		return;
	}
	step = &comparison->process->steps[first];
	other = &comparison->other_process->steps[second];
	comparison->calls++;
	if (!texts_are_equal(step->verdict, other->verdict))
		difference_add_step(comparison, &comparison->verdict, step, other);
	if (!texts_are_equal(step->error, other->error))
		difference_add_step(comparison, &comparison->outcome, step, other);
}

/* Compares the steps of a process with those of its partner in the other run. */
static void comparison_align_steps(struct comparison *comparison, const struct trail_process *process,
				   const struct trail_process *other)
{
	const struct align_keys keys = {steps_get_key, process, process->step_count};
	const struct align_keys other_keys = {steps_get_key, other, other->step_count};

	comparison->process = process;
	comparison->other_process = other;
	align_keys(&keys, &other_keys, comparison_compare_steps, comparison);
}

/* The child processes of one process, as a sequence to be aligned. */
struct process_children {
	const struct trail *trail;
	const size_t *child_process;
};

/* The key by which children of a process are paired: the hash of their first steps. */
static uint64_t children_get_key(const void *items, size_t index)
{
	const struct process_children *children = items;

	return children->trail->processes[children->child_process[index]].first_steps_hash;
}

/* Callback of align_keys(): makes two children of a pair of processes partners. */
static void comparison_pair_children(void *ctx, size_t first, size_t second)
{
	struct comparison *comparison = ctx;

	if (first != ALIGN_NO_PARTNER && second != ALIGN_NO_PARTNER)
		comparison->partner_in_other_run[comparison->child[first]] = comparison->other_child[second];
}

/* If both processes have exactly one child, makes the two children partners, even if their calls differ. */
static void comparison_pair_only_children(struct comparison *comparison, size_t count, size_t other_count)
{
	if (count == 1 && other_count == 1)
		comparison->partner_in_other_run[comparison->child[0]] = comparison->other_child[0];
}

/* Finds partners for the children of two processes that are partners. */
static void comparison_align_children(struct comparison *comparison, size_t parent, size_t other_parent)
{
	size_t count, other_count;
	_cleanup_free_ size_t *child = trail_list_children(comparison->trail, parent, &count),
			      *other_child = trail_list_children(comparison->other, other_parent, &other_count);
	const struct process_children of = {comparison->trail, child}, of_other = {comparison->other, other_child};
	const struct align_keys keys = {children_get_key, &of, count};
	const struct align_keys other_keys = {children_get_key, &of_other, other_count};

	if (!child || !other_child) {
		comparison->is_out_of_memory = true;
		return;
	}
	comparison->child = child;
	comparison->other_child = other_child;
	align_keys(&keys, &other_keys, comparison_pair_children, comparison);
	comparison_pair_only_children(comparison, count, other_count);
}

/*
 * Finds all processes' partners. A parent process comes before its children in the log, so the parent's partner is
 * known when the children are aligned.
 */
static void comparison_align_processes(struct comparison *comparison)
{
	const struct trail *trail = comparison->trail, *other = comparison->other;

	comparison->partner_in_other_run = calloc(trail->process_count + 1, sizeof(*comparison->partner_in_other_run));
	if (!comparison->partner_in_other_run) {
		comparison->is_out_of_memory = true;
		return;
	}
	for (size_t i = 0; i < trail->process_count; i++)
		comparison->partner_in_other_run[i] = ALIGN_NO_PARTNER;
	comparison_align_children(comparison, TRAIL_NO_PROCESS, TRAIL_NO_PROCESS);
	for (size_t i = 0; i < trail->process_count; i++) {
		size_t partner = comparison->partner_in_other_run[i];

		if (partner == ALIGN_NO_PARTNER) {
			comparison->processes_only++;
			continue;
		}
		comparison->processes++;
		comparison_align_steps(comparison, &trail->processes[i], &other->processes[partner]);
		comparison_align_children(comparison, i, partner);
	}
	comparison->processes_other = other->process_count - comparison->processes;
}

static json_t *step_make_json(const struct trail_step *step)
{
	return json_pack("{s:I, s:s?, s:s?, s:s?, s:s?}", "seq", (json_int_t)step->seq, "verdict", step->verdict,
			 "rule", step->rule, "reason", step->reason, "errno", step->error);
}

static json_t *difference_make_json(const struct difference *difference)
{
	if (!difference->step)
		return json_null();
	return json_pack("{s:I, s:I, s:s?, s:s, s:o, s:o}", "count", (json_int_t)difference->differing_step_count,
			 "pid", (json_int_t)difference->process->pid, "exe", difference->step->exe, "call",
			 difference->step->call_text, "first", step_make_json(difference->step), "other",
			 step_make_json(difference->other_step));
}

/* Compares a member of two results: {"first": VALUE, "other": VALUE}; null: both values are equal. */
static json_t *compare_result_member(const struct compared_run *first, const struct compared_run *other,
				     const char *name)
{
	json_t *value = json_object_get(first->result, name), *other_value = json_object_get(other->result, name);

	if (json_equal(value, other_value) || (!value && !other_value))
		return json_null();
	return json_pack("{s:O?, s:O?}", "first", value, "other", other_value);
}

/* Makes an object of the changes in a run's result, by path. */
static json_t *changes_index_by_path(const json_t *result)
{
	json_t *index = json_object(), *change;
	size_t i;

	json_array_foreach(json_object_get(result, "changes"), i, change) {
		(void)json_object_set(index, json_string_value(json_object_get(change, "path")), change);
	}
	return index;
}

/* Lists files that only one run changed, or that both runs changed to different contents. */
static json_t *compare_changed_files(const struct compared_run *first, const struct compared_run *other)
{
	_cleanup_json_ json_t *index = changes_index_by_path(first->result),
			      *other_index = changes_index_by_path(other->result);
	json_t *list = json_array(), *change;
	const char *path;

	json_object_foreach(index, path, change) {
		json_t *partner = json_object_get(other_index, path);

		if (!json_equal(change, partner))
			(void)json_array_append_new(list, json_pack("{s:s, s:O, s:O?}", "path", path, "first", change,
								    "other", partner));
	}
	json_object_foreach(other_index, path, change) {
		if (!json_object_get(index, path))
			(void)json_array_append_new(list, json_pack("{s:s, s:n, s:O}", "path", path, "first", "other",
								    change));
	}
	return list;
}

static json_t *comparison_make_json(const struct comparison *comparison, const struct compared_run *first,
				    const struct compared_run *other)
{
	return json_pack("{s:s, s:s, s:o, s:o, s:{s:I, s:I, s:I}, s:{s:I, s:I, s:I}, s:o, s:o, s:o, s:o, s:o, s:o}",
			 "first", first->policy, "other", other->policy, "first_verdict",
			 difference_make_json(&comparison->verdict), "first_outcome",
			 difference_make_json(&comparison->outcome), "calls", "both", (json_int_t)comparison->calls,
			 "only_first", (json_int_t)comparison->calls_only, "only_other",
			 (json_int_t)comparison->calls_other, "processes", "both", (json_int_t)comparison->processes,
			 "only_first", (json_int_t)comparison->processes_only, "only_other",
			 (json_int_t)comparison->processes_other, "status",
			 compare_result_member(first, other, "status"), "exit_code",
			 compare_result_member(first, other, "exit_code"), "signal",
			 compare_result_member(first, other, "signal"), "stdout",
			 compare_result_member(first, other, "stdout"), "stderr",
			 compare_result_member(first, other, "stderr"), "changes", compare_changed_files(first, other));
}

json_t *compare_find_differences(const struct compared_run *first, const struct compared_run *other)
{
	struct comparison comparison = {.trail = &first->trail, .other = &other->trail};
	json_t *differences = NULL;

	comparison_align_processes(&comparison);
	if (!comparison.is_out_of_memory)
		differences = comparison_make_json(&comparison, first, other);
	free(comparison.partner_in_other_run);
	return differences;
}

bool compare_found_no_difference(const json_t *differences)
{
	static const char *const members[] = {"first_verdict", "first_outcome", "status", "exit_code", "signal",
					      "stdout", "stderr"};

	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
		if (!json_is_null(json_object_get(differences, members[i])))
			return false;
	return json_array_size(json_object_get(differences, "changes")) == 0;
}
