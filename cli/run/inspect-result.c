/* --inspect: what the result of a run says of it. */
#include <jansson.h>

#include "cli/inspect/program.h"
#include "cli/run/private.h"
#include "supervisor/report.h"

/* Adds a changed file to a list. */
static void run_list_change(void *data, const char *name, bool is_new)
{
	(void)is_new;
	(void)json_array_append_new(data, report_make_text_json(name));
}

void run_add_findings(const struct run *run, json_t *result)
{
	const struct inspect_program *inspection = run->inspection;
	json_t *changed;

	if (!inspection || !inspection->findings)
		return;
	changed = json_array();
	inspect_program_visit_changes(inspection, changed, run_list_change);
	(void)json_object_set_new(
		result, "inspect",
		json_pack("{s:b, s:O, s:I, s:o}", "refused", inspection->why != NULL, "findings", inspection->findings,
			  "unlisted", (json_int_t)inspect_program_count_unlisted(inspection), "changed", changed));
}
