/* What callgate learn says at its end. */
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

static void report_print_refusals(const struct learn *learn)
{
	for (size_t i = 0; i < json_array_size(learn->draft.refused); i++) {
		const json_t *entry = json_array_get(learn->draft.refused, i);

		cli_note("callgate learn: never granted: %s (%s): %s", report_get_text(entry, "path"),
			 report_get_text(entry, "right"), report_get_text(entry, "why"));
	}
	if (json_array_size(learn->draft.left) > 0)
		cli_note("callgate learn: %zu rule%s left out, with \"disabled\"; --allow-risky grants them",
			 json_array_size(learn->draft.left), json_array_size(learn->draft.left) == 1 ? " is" : "s are");
}

static void report_print_bugs(const struct learn *learn)
{
	for (size_t i = 0; i < json_array_size(learn->bugs); i++) {
		const json_t *bug = json_array_get(learn->bugs, i);

		cli_print_error("learn", "a bug of the policy: %s %s was denied (%s), record %" JSON_INTEGER_FORMAT
				" of the verification", report_get_text(bug, "syscall"), report_get_text(bug, "target"),
				report_get_text(bug, "reason"), json_integer_value(json_object_get(bug, "seq")));
	}
}

static bool report_ends_differ(const struct learn *learn)
{
	return learn->proof && !json_equal(json_object_get(learn->proof, "exit_code"),
					   json_object_get(learn->result, "exit_code"));
}

static json_t *report_make_json(const struct learn *learn, uint64_t granted, uint64_t used)
{
	json_t *extends = json_object_get(learn->draft.root, "extends");

	return json_pack("{s:s, s:O?, s:I, s:I, s:I, s:O, s:O, s:O, s:o, s:i, s:O?, s:O?}", "policy", learn->output,
			 "extends", extends, "rules", (json_int_t)draft_count_rules(&learn->draft), "files_granted",
			 (json_int_t)granted, "files_used", (json_int_t)used, "left_out", learn->draft.left,
			 "never_granted", learn->draft.refused, "denials", learn->bugs, "verified",
			 learn->proof ? json_boolean(json_array_size(learn->bugs) == 0 && !report_ends_differ(learn))
				      : json_null(),
			 "rounds", (int)learn->rounds, "exit_code", json_object_get(learn->result, "exit_code"),
			 "verified_exit_code", json_object_get(learn->proof, "exit_code"));
}

static void report_print_text(const struct learn *learn, uint64_t granted, uint64_t used)
{
	(void)printf("%s: %zu rules; %" PRIu64 " files can be read, %" PRIu64 " were\n", learn->output,
		     draft_count_rules(&learn->draft), granted, used);
	if (learn->proof && json_array_size(learn->bugs) == 0 && !report_ends_differ(learn))
		(void)printf("verified: the program ran under it without a denial\n");
}

int learn_report(struct learn *learn)
{
	uint64_t granted, used;
	int r;

	if (learn_count_files(learn, &granted, &used) < 0)
		return CLI_ERROR;
	report_print_refusals(learn);
	report_print_bugs(learn);
	if (report_ends_differ(learn))
		cli_print_error("learn", "the program ended with %" JSON_INTEGER_FORMAT " under the policy, and with %"
				JSON_INTEGER_FORMAT " before",
				json_integer_value(json_object_get(learn->proof, "exit_code")),
				json_integer_value(json_object_get(learn->result, "exit_code")));
	if (learn->json) {
		r = cli_print_json("learn", report_make_json(learn, granted, used));
		if (r != CLI_OK)
			return r;
	} else {
		report_print_text(learn, granted, used);
	}
	return json_array_size(learn->bugs) > 0 || report_ends_differ(learn) ? 1 : CLI_OK;
}
