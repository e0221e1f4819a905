/* An inspection: what is looked for, and what it holds. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/inspect/program.h"
#include "policy/findings.h"

int inspect_allow_module(struct cli_list *modules, const char *module)
{
	int r = modules->count == 0 ? cli_list_add_owned(modules, strdup("@standard")) : 0;

	return r == 0 ? cli_list_add_owned(modules, strdup(module)) : r;
}

void inspect_set_default(bool is_wanted, const struct cli_list *modules, uint32_t *refused, uint32_t *warned)
{
	if ((!is_wanted && modules->count == 0) || *refused || *warned)
		return;
	*refused = inspect_level_get_bits(INSPECT_ALARM);
	*warned = inspect_level_get_bits(INSPECT_WARNING);
}

uint64_t inspect_program_count_unlisted(const struct inspect_program *inspection)
{
	return inspection->warned_count + inspection->refused_count - json_array_size(inspection->findings);
}

void inspect_program_release(struct inspect_program *inspection)
{
	for (size_t i = 0; i < inspection->seen_count; i++) {
		free(inspection->seen[i].name);
		free(inspection->seen[i].found);
	}
	free(inspection->seen);
	free(inspection->why);
	cli_list_release(&inspection->modules);
	cli_list_release(&inspection->environment);
	cli_list_release(&inspection->variables);
	cli_list_release(&inspection->commands);
	cli_list_release(&inspection->visited);
	cli_list_release(&inspection->ends);
	cli_list_release(&inspection->paths);
	inspect_imports_release(&inspection->imports);
	json_decref(inspection->findings);
}
