/* Prints a comparison as text. All output goes through text_printf, which escapes control characters for terminals. */
#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "cli/compare/compare.h"

#define PRINTED_CHANGES_MAX 20u
#define PRINTED_LINE_BYTES_MAX 160

static const char *print_get_text(const json_t *object, const char *key, const char *otherwise)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : otherwise;
}

/* Prints a step, such as "deny EACCES (rule; reason), record 12". */
static void print_step(FILE *out, const char *policy, const json_t *step)
{
	const char *error = print_get_text(step, "errno", NULL), *rule = print_get_text(step, "rule", NULL),
		   *reason = print_get_text(step, "reason", NULL);

	(void)text_printf(out, "    %s: %s, %s%s%s%s%s, record %lld\n", policy, print_get_text(step, "verdict", "?"),
			  error ? error : "succeeded", rule ? ", rule " : "", rule ? rule : "",
			  reason ? ", reason " : "", reason ? reason : "",
			  (long long)json_integer_value(json_object_get(step, "seq")));
}

/* Prints a difference with its first example, or that there is none. */
static void print_difference(FILE *out, const char *title, const json_t *differences, const char *key)
{
	const json_t *difference = json_object_get(differences, key);

	if (json_is_null(difference)) {
		(void)text_printf(out, "  %s: none\n", title);
		return;
	}
	(void)text_printf(out, "  %s (of %lld): %s\n    in %s, pid %lld\n", title,
			  (long long)json_integer_value(json_object_get(difference, "count")),
			  print_get_text(difference, "call", "?"), print_get_text(difference, "exe", "?"),
			  (long long)json_integer_value(json_object_get(difference, "pid")));
	print_step(out, print_get_text(differences, "first", "?"), json_object_get(difference, "first"));
	print_step(out, print_get_text(differences, "other", "?"), json_object_get(difference, "other"));
}

/* Prints how many objects both runs have, and how many only one of them. */
static void print_counts(FILE *out, const char *title, const json_t *counts)
{
	(void)text_printf(out, "  %s: %lld in both, %lld only in the first, %lld only in the other\n", title,
			  (long long)json_integer_value(json_object_get(counts, "both")),
			  (long long)json_integer_value(json_object_get(counts, "only_first")),
			  (long long)json_integer_value(json_object_get(counts, "only_other")));
}

/* Prints a text or a number; "none" for anything else. */
static void print_value(FILE *out, const json_t *value)
{
	if (json_is_string(value))
		(void)text_printf(out, "%s", json_string_value(value));
	else if (json_is_integer(value))
		(void)text_printf(out, "%lld", (long long)json_integer_value(value));
	else
		(void)text_printf(out, "none");
}

static void print_result_member(FILE *out, const struct compared_run *run, const char *key)
{
	(void)text_printf(out, "%s ", key);
	print_value(out, json_object_get(run->result, key));
}

static void print_end_of_run(FILE *out, const struct compared_run *run)
{
	static const char *const keys[] = {"status", "exit_code", "signal"};

	(void)text_printf(out, "  %s: ", run->policy);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		print_result_member(out, run, keys[i]);
		(void)text_printf(out, "%s", i + 1 < sizeof(keys) / sizeof(keys[0]) ? ", " : "\n");
	}
}

/* The length of the line that begins at `text`, but at most PRINTED_LINE_BYTES_MAX. */
static int print_get_line_len(const char *text)
{
	size_t len = strcspn(text, "\n");

	return (int)(len < PRINTED_LINE_BYTES_MAX ? len : PRINTED_LINE_BYTES_MAX);
}

/* Whether two texts begin with the same whole line. */
static bool print_first_lines_are_equal(const char *text, const char *other)
{
	size_t len = strcspn(text, "\n");

	return text[len] && strncmp(text, other, len + 1) == 0;
}

/* Prints the first line in which two outputs differ. */
static void print_first_output_difference(FILE *out, const json_t *differences, const char *key)
{
	const json_t *output = json_object_get(differences, key);
	const char *first = print_get_text(output, "first", ""), *other = print_get_text(output, "other", "");
	size_t line = 1;

	if (json_is_null(output))
		return;
	while (print_first_lines_are_equal(first, other)) {
		first += strcspn(first, "\n") + 1;
		other += strcspn(other, "\n") + 1;
		line++;
	}
	(void)text_printf(out, "  %s differs from line %zu on:\n    first: %.*s\n    other: %.*s\n", key, line,
			  print_get_line_len(first), first, print_get_line_len(other), other);
}

static void print_changed_files(FILE *out, const json_t *differences)
{
	const json_t *changes = json_object_get(differences, "changes");
	size_t count = json_array_size(changes);

	for (size_t i = 0; i < count && i < PRINTED_CHANGES_MAX; i++) {
		const json_t *change = json_array_get(changes, i);

		(void)text_printf(out, "  file %s: first %s, other %s\n", print_get_text(change, "path", "?"),
				  print_get_text(json_object_get(change, "first"), "kind", "untouched"),
				  print_get_text(json_object_get(change, "other"), "kind", "untouched"));
	}
	if (count > PRINTED_CHANGES_MAX)
		(void)text_printf(out, "  and %zu more files (--json lists them)\n", count - PRINTED_CHANGES_MAX);
}

int compare_print_differences(FILE *out, const struct compared_run *first, const struct compared_run *other,
			      const json_t *differences)
{
	(void)text_printf(out, "first: %s\nother: %s\n", first->policy, other->policy);
	if (compare_found_no_difference(differences))
		(void)text_printf(out, "  no difference in verdicts, outcomes, output and changes\n");
	print_difference(out, "first verdict that differs", differences, "first_verdict");
	print_difference(out, "first outcome that differs", differences, "first_outcome");
	print_counts(out, "calls", json_object_get(differences, "calls"));
	print_counts(out, "processes", json_object_get(differences, "processes"));
	print_end_of_run(out, first);
	print_end_of_run(out, other);
	print_first_output_difference(out, differences, "stdout");
	print_first_output_difference(out, differences, "stderr");
	print_changed_files(out, differences);
	return ferror(out) ? -EIO : 0;
}
