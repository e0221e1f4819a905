/* The cells of a plan: one run each. A cell is known by the SHA-256 of everything that its outcome depends on. */
#ifndef CALLGATE_CLI_EXPERIMENT_CELLS_H
#define CALLGATE_CLI_EXPERIMENT_CELLS_H

#include "base/sha256.h"
#include "cli/experiment/plan.h"

struct cell {
	const struct plan_program *program;
	const struct plan_input *input;
	const struct plan_policy *policy;
	unsigned repetition; /* number of the repetition, from 1 */
	size_t index;        /* index of the cell in the plan, from 0 */
	char digest[SHA256_HEX_SIZE];
};

/*
 * All cells of the plan, by program, input, policy and repetition. Loads each policy once for its digest. Owned by the
 * caller; NULL with a message printed.
 */
struct cell *cells_create(const struct plan *plan, size_t *ret_count);

/* The seed of a cell: the plan's seed plus the cell's repetition minus 1. */
uint64_t cell_get_seed(const struct plan *plan, const struct cell *cell);

/*
 * The cell's command line with its placeholders replaced. {input} is the name of the input file in the working
 * directory. NULL: no memory. The caller releases the list.
 */
int cell_expand_command(const struct plan *plan, const struct cell *cell, struct cli_list *ret_command);

/*
 * The row of a finished cell from its result (of callgate run --json). What may differ between two runs of the same
 * cell is in "measured" alone. Owned by the caller; NULL: no memory.
 */
json_t *cell_make_row(const struct plan *plan, const struct cell *cell, const json_t *result);

#endif
