/* --inspect: what the result of a run says of it. */
#include <jansson.h>

#include "base/cleanup-json.h"
#include "cli/inspect/program.h"
#include "cli/run/private.h"

void run_add_findings(const struct run *run, json_t *result)
{
	const struct inspect_program *inspection = run->inspection;
	_cleanup_json_ json_t *changes = NULL;
	json_t *report;

	if (!inspection || !inspection->findings)
		return; /* without --json, each file would be looked for once more for nothing */
	changes = inspect_program_make_changes(inspection, NULL);
	report = inspect_program_make_report(inspection, changes);
	if (report)
		(void)json_object_set_new(result, "inspect", report);
}
