/* --inspect: what the result of a run says of it. */
#include <jansson.h>

#include "base/cleanup-json.h"
#include "cli/inspect/program.h"
#include "cli/run/private.h"

void run_add_findings(const struct run *run, json_t *result)
{
	_cleanup_json_ json_t *changes = run->inspection ? inspect_program_make_changes(run->inspection, NULL) : NULL;
	json_t *report = run->inspection ? inspect_program_make_report(run->inspection, changes) : NULL;

	if (report)
		(void)json_object_set_new(result, "inspect", report);
}
