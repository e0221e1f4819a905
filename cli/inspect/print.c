/* Prints findings, as text and as JSON. */
#include <stdio.h>

#include "base/text.h"
#include "cli/inspect/inspect.h"
#include "supervisor/report.h"

/* Prints the start of a line. The path may have any bytes: text_print() escapes a newline, text_printf() does not. */
static int print_place(const char *path, uint32_t line)
{
	int r = text_print(stdout, path, false);

	if (r == 0 && line > 0)
		r = text_printf(stdout, ":%u", line);
	return r;
}

int inspect_print_text(const char *path, const struct inspect_findings *findings, enum inspect_level least)
{
	const uint64_t unlisted = inspect_findings_count_unlisted(findings, inspect_level_get_bits(least));
	int r = 0;

	for (size_t i = 0; r == 0 && i < findings->count; i++) {
		const struct inspect_finding *finding = &findings->item[i];

		if (inspect_kind_get_level(finding->kind) < least)
			continue;
		r = print_place(path, finding->line);
		if (r == 0)
			r = text_printf(stdout, ": %s: ", inspect_kind_get_name(finding->kind));
		if (r == 0)
			r = text_print(stdout, finding->what, false);
		if (r == 0)
			r = text_printf(stdout, "\n");
	}
	if (r == 0 && unlisted > 0)
		r = print_place(path, 0);
	if (r == 0 && unlisted > 0)
		r = text_printf(stdout, ": and %llu more\n", (unsigned long long)unlisted);
	return r;
}

json_t *inspect_make_finding_json(const struct inspect_finding *finding)
{
	return json_pack("{s:o, s:s, s:s, s:o}", "line", finding->line > 0 ? json_integer(finding->line) : json_null(),
			 "kind", inspect_kind_get_name(finding->kind), "level",
			 inspect_level_get_name(inspect_kind_get_level(finding->kind)), "what",
			 report_make_text_json(finding->what));
}

json_t *inspect_make_json(const char *path, enum inspect_type type, const struct inspect_findings *findings,
			  enum inspect_level least)
{
	json_t *list = json_array();

	for (size_t i = 0; i < findings->count; i++)
		if (inspect_kind_get_level(findings->item[i].kind) >= least)
			(void)json_array_append_new(list, inspect_make_finding_json(&findings->item[i]));
	return json_pack("{s:o, s:s, s:o, s:I}", "file", report_make_text_json(path), "type",
			 inspect_type_get_name(type), "findings", list, "unlisted",
			 (json_int_t)inspect_findings_count_unlisted(findings, inspect_level_get_bits(least)));
}
