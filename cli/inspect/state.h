/*
 * What a shell changes for the commands that it runs later: directories, PATH, HOME, standard input. It is kept in
 * struct inspect_program, and what one shell has changed ends with it.
 */
#ifndef CALLGATE_CLI_INSPECT_STATE_H
#define CALLGATE_CLI_INSPECT_STATE_H

#include <jansson.h>

#include "cli/inspect/program.h"

/* How the state was, for inspect_state_restore(). */
struct inspect_state {
	size_t directory_count, path_count;
	bool is_lost, has_other_input;
	const char *home;
};

struct inspect_state inspect_state_save(const struct inspect_program *inspection);
void inspect_state_restore(struct inspect_program *inspection, const struct inspect_state *state);

/* Adds what each of `below` is in each of the inspection's directories. 0 or -ENOMEM. */
int inspect_state_add_directories(struct inspect_program *inspection, const struct cli_list *below,
				  struct cli_list *directories);
/*
 * Takes the state at the end of a file that a shell has read: "directories", "paths", "lost", "home", "input".
 * is_below: as the parser tells it, with directories that are below the inspection's. 0 or -ENOMEM; -EBADMSG: it is not
 * of this form.
 */
int inspect_state_take(struct inspect_program *inspection, const json_t *told, bool is_below);
/* Adds the directories from the n-th on, which it takes, to those of the inspection. 0 or -ENOMEM. */
int inspect_state_add_ends(struct inspect_program *inspection, struct cli_list *ends, size_t n);
/* The state in the same form, as it is now. Owned; NULL: no memory. */
char *inspect_state_describe(const struct inspect_program *inspection);

#endif
