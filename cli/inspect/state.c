#include "cli/inspect/state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup-json.h"
#include "base/cleanup.h"
#include "cli/inspect/command.h"
#include "cli/inspect/parts.h"
#include "cli/inspect/words.h"

#define STATE_DIRECTORIES_MAX 8 /* in which a name may be */

struct inspect_state inspect_state_save(const struct inspect_program *inspection)
{
	return (struct inspect_state){inspection->directories.count, inspection->paths.count, inspection->is_lost,
				      inspection->has_other_input, inspection->home};
}

static void state_cut_list(struct cli_list *list, size_t count)
{
	while (list->count > count) {
		free(list->item[--list->count]);
		list->item[list->count] = NULL;
	}
}

void inspect_state_restore(struct inspect_program *inspection, const struct inspect_state *state)
{
	state_cut_list(&inspection->directories, state->directory_count);
	state_cut_list(&inspection->paths, state->path_count);
	inspection->is_lost = state->is_lost;
	inspection->has_other_input = state->has_other_input;
	inspection->home = state->home;
}

int inspect_state_add_directories(struct inspect_program *inspection, const struct cli_list *below,
				  struct cli_list *directories)
{
	char *joined;
	int r = 0;

	for (size_t k = 0; r == 0 && k < below->count; k++)
		for (size_t i = 0; r == 0 && (joined = inspect_parts_join(inspection, i, below->item[k])); i++)
			if (directories->count < STATE_DIRECTORIES_MAX) {
				r = inspect_add_new_word(joined, directories);
			} else {
				free(joined);
				inspection->is_lost = true;
			}
	return r;
}

int inspect_state_add_ends(struct inspect_program *inspection, struct cli_list *ends, size_t n)
{
	struct cli_list *directories = &inspection->directories;
	/* an empty list stands for the working directory */
	int r = directories->count == 0 ? cli_list_add_owned(directories, strdup("")) : 0;

	for (size_t i = n; r == 0 && i < ends->count; i++)
		if (directories->count < STATE_DIRECTORIES_MAX)
			r = inspect_add_new_word(steal_pointer(&ends->item[i]), directories);
		else
			inspection->is_lost = true;
	return r;
}

int inspect_state_take(struct inspect_program *inspection, const json_t *told, bool is_below)
{
	_cleanup_list_ struct cli_list below = {0}, joined = {0};
	int r = inspect_read_words(json_object_get(told, "directories"), &below);

	if (r == 0 && is_below)
		r = inspect_state_add_directories(inspection, &below, &joined);
	if (r == 0)
		r = inspect_state_add_ends(inspection, is_below ? &joined : &below, 0);
	if (r == 0)
		r = inspect_add_new_words(json_object_get(told, "paths"), &inspection->paths);
	inspection->is_lost = inspection->is_lost || json_is_true(json_object_get(told, "lost"));
	inspection->has_other_input = inspection->has_other_input || json_is_true(json_object_get(told, "input"));
	if (json_is_true(json_object_get(told, "home")))
		inspection->home = INSPECT_HOME_UNKNOWN;
	return r;
}

static json_t *state_make_array(const struct cli_list *words)
{
	json_t *array = json_array();

	for (size_t i = 0; i < words->count; i++)
		(void)json_array_append_new(array, json_string(words->item[i])); /* they came from JSON */
	return array;
}

char *inspect_state_describe(const struct inspect_program *inspection)
{
	const bool has_other_home = inspection->home && strcmp(inspection->home, INSPECT_HOME_UNKNOWN) == 0;
	_cleanup_json_ json_t *told =
		json_pack("{s:o, s:o, s:b, s:b, s:b}", "directories", state_make_array(&inspection->directories),
			  "paths", state_make_array(&inspection->paths), "lost", inspection->is_lost, "input",
			  inspection->has_other_input, "home", has_other_home);

	return told ? json_dumps(told, JSON_COMPACT) : NULL;
}
