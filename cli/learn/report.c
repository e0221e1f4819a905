/* Prints the report of callgate learn. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cli/learn/learn.h"

static const char *report_get_text(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "?";
}

/* Prints what is never granted, and how many rules were left out. */
static void report_print_refusals(const struct learn *learn)
{
	for (size_t i = 0; i < json_array_size(learn->draft.ungrantable); i++) {
		const json_t *entry = json_array_get(learn->draft.ungrantable, i);

		cli_note("callgate learn: never granted: %s (%s): %s", report_get_text(entry, "path"),
			 report_get_text(entry, "right"), report_get_text(entry, "why"));
	}
	if (json_array_size(learn->draft.disabled_paths) > 0)
		cli_note("callgate learn: %zu rule%s left out, with \"disabled\"; --allow-risky grants them",
			 json_array_size(learn->draft.disabled_paths),
			 json_array_size(learn->draft.disabled_paths) == 1 ? " is" : "s are");
}

/* Prints the needs that no rule can grant. */
static void report_print_unmet_needs(const struct learn *learn)
{
	for (size_t i = 0; i < json_array_size(learn->unmet_needs); i++) {
		const json_t *entry = json_array_get(learn->unmet_needs, i);

		cli_note("callgate learn: not granted, for no rule can: %s (%s)", report_get_text(entry, "path"),
			 report_get_text(entry, "right"));
	}
}

/* Prints what the learnt policy denied in the verification run, though it was learnt from the same accesses. */
static void report_print_wrong_denials(const struct learn *learn)
{
	for (size_t i = 0; i < json_array_size(learn->wrong_denials); i++) {
		const json_t *bug = json_array_get(learn->wrong_denials, i);

		cli_print_error("learn", "a bug of the policy: %s %s was denied (%s), record %" JSON_INTEGER_FORMAT
				" of the verification", report_get_text(bug, "syscall"), report_get_text(bug, "target"),
				report_get_text(bug, "reason"), json_integer_value(json_object_get(bug, "seq")));
	}
}

/* Describes how a run ended: "exit status 2", "signal SIGKILL". */
static void report_describe_end_of_run(const json_t *end, char *text, size_t room)
{
	const json_t *code = json_object_get(end, "exit_code"), *signal = json_object_get(end, "signal");
	const json_t *stop = json_object_get(end, "stopped_by");

	if (json_is_string(stop))
		(void)snprintf(text, room, "\"%s\"", json_string_value(stop));
	else if (json_is_string(signal))
		(void)snprintf(text, room, "signal %s", json_string_value(signal));
	else
		(void)snprintf(text, room, "exit status %" JSON_INTEGER_FORMAT, json_integer_value(code));
}

/* Prints for which inputs the program ended otherwise under the policy than before. */
static void report_print_ends_of_runs(const struct learn *learn)
{
	for (size_t i = 0; learn->proof && i < json_array_size(learn->ends); i++) {
		const json_t *before = json_array_get(learn->ends, i), *after = json_array_get(learn->proof_ends, i);
		char first[64], second[64];

		if (json_equal(before, after))
			continue;
		report_describe_end_of_run(before, first, sizeof(first));
		report_describe_end_of_run(after, second, sizeof(second));
		cli_print_error("learn", "the program ended with %s under the policy, and with %s before%s%s", second,
				first, learn->input.count ? ", with the input " : "",
				learn->input.count ? learn->input.item[i] : "");
	}
}

static json_t *report_make_json(const struct learn *learn, const struct learn_file_counts *files)
{
	json_t *extends = json_object_get(learn->draft.root, "extends");

	const bool good = json_array_size(learn->wrong_denials) == 0 && !learn_run_ends_differ(learn);

	return json_pack("{s:s, s:O?, s:I, s:I, s:I, s:I, s:O, s:O, s:O, s:O, s:o, s:b, s:i, s:O?, s:O?}", "policy",
			 learn->output, "extends", extends, "rules", (json_int_t)draft_count_rules(&learn->draft),
			 "files_granted", (json_int_t)files->granted_file_count, "files_by_profile",
			 (json_int_t)files->granted_by_profile, "files_used", (json_int_t)files->used_file_count,
			 "left_out", learn->draft.disabled_paths, "never_granted", learn->draft.ungrantable, "unmet",
			 learn->unmet_needs, "denials", learn->wrong_denials, "verified",
			 learn->proof ? json_boolean(good) : json_null(), "observed", learn->verifies_by_observing,
			 "rounds", (int)learn->verification_rounds, "exit_code",
			 json_object_get(learn->result, "exit_code"), "verified_exit_code",
			 json_object_get(learn->proof, "exit_code"));
}

static void report_print_text(const struct learn *learn, const struct learn_file_counts *files)
{
	(void)text_printf(stdout, "%s: %zu rules; %" PRIu64 " files can be read, %" PRIu64 " were", learn->output,
			  draft_count_rules(&learn->draft), files->granted_file_count, files->used_file_count);
	if (learn->base_profile)
		(void)text_printf(stdout, "; the profile %s alone grants %" PRIu64, learn->base_profile,
				  files->granted_by_profile);
	(void)text_printf(stdout, "\n");
	if (learn->proof && json_array_size(learn->wrong_denials) == 0 && !learn_run_ends_differ(learn))
		(void)text_printf(stdout, "verified: the program %s under it %s\n",
				  learn->verifies_by_observing ? "was observed" : "ran",
				  learn->expected_denial_count ? "and was denied only what is left out"
							  : "without a denial");
}

int learn_print_report(struct learn *learn)
{
	struct learn_file_counts files;
	int r;

	if (learn_count_files(learn, &files) < 0)
		return CLI_EXIT_ERROR;
	report_print_refusals(learn);
	report_print_unmet_needs(learn);
	report_print_wrong_denials(learn);
	report_print_ends_of_runs(learn);
	if (learn->json) {
		r = cli_print_json("learn", report_make_json(learn, &files));
		if (r != CLI_EXIT_OK)
			return r;
	} else {
		report_print_text(learn, &files);
	}
	return json_array_size(learn->wrong_denials) > 0 || learn_run_ends_differ(learn) ? 1 : CLI_EXIT_OK;
}
