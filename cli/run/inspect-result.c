/* --inspect: what the result of a run says of it. */
#include <jansson.h>

#include "cli/inspect/program.h"
#include "cli/run/private.h"

void run_add_findings(const struct run *run, json_t *result)
{
	const struct inspect_program *inspection = run->inspection;
	json_t *told, *changes;

	if (!inspection || !inspection->findings)
		return;
	told = json_pack("{s:b, s:O, s:I}", "refused", inspection->why != NULL, "findings", inspection->findings,
			 "unlisted", (json_int_t)inspect_program_count_unlisted(inspection));
	changes = inspect_program_make_changes(inspection, NULL);
	(void)json_object_update(told, changes);
	json_decref(changes);
	(void)json_object_set_new(result, "inspect", told);
}
