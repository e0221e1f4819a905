/* The cells of a plan: one run each. A cell is identified by the SHA-256 of everything that its outcome depends on. */
#ifndef CALLGATE_CLI_EXPERIMENT_CELLS_H
#define CALLGATE_CLI_EXPERIMENT_CELLS_H

#include "base/sha256.h"
#include "cli/experiment/plan.h"

/* A cell of an experiment: one run that its plan asks for. */
struct cell {
	const struct plan_program *program;
	const struct plan_input *input;
	const struct plan_policy *policy;
	unsigned repetition; /* number of the repetition, from 1 */
	size_t index;        /* index of the cell in the plan, from 0 */
	char digest[SHA256_HEX_SIZE]; /* of all that the cell's result depends on; names its directory */
};

/*
 * Makes all cells of the plan, ordered by program, input, policy and repetition. Loads each policy once for its digest.
 * Owned by the caller; NULL with a message printed.
 */
struct cell *cells_create(const struct plan *plan, size_t *ret_count);

/* The seed of a cell: the plan's seed plus the cell's repetition minus 1. */
uint64_t cell_get_seed(const struct plan *plan, const struct cell *cell);

/*
 * Makes the cell's command line: the program's command with its placeholders replaced. {input} becomes the name of the
 * input file in the working directory. 0 or -ENOMEM. The caller releases the list.
 */
int cell_expand_command(const struct plan *plan, const struct cell *cell, struct cli_list *ret_command);

/*
 * Makes the row of a finished cell from the result of its run (callgate run --json). Values that may differ between two
 * runs of the same cell are in the member "measured" alone. Owned by the caller; NULL: no memory.
 */
json_t *cell_make_row(const struct plan *plan, const struct cell *cell, const json_t *result);

#endif
