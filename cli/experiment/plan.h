/* An experiment's plan: programs × inputs × policies × repetitions. The file's format is in callgate(1). */
#ifndef CALLGATE_CLI_EXPERIMENT_PLAN_H
#define CALLGATE_CLI_EXPERIMENT_PLAN_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/options.h"

struct plan_program {
	const char *name;
	struct cli_list command; /* may contain {input}, {stdin}, {seed} and {repetition} */
	char *workdir;           /* absolute; NULL: empty */
};

struct plan_input {
	const char *name; /* "": the plan has no inputs */
	char *file;       /* absolute; copied into the working directory; NULL: none */
	char *standard;   /* absolute; for the standard input; NULL: empty */
};

struct plan_policy {
	const char *name;
	struct cli_list options; /* of callgate run */
};

struct plan {
	json_t *json; /* owned; names are borrowed from it */
	char *dir;    /* owned; of the file: paths in it are relative to this */
	struct plan_program *program;
	struct plan_input *input; /* at least one */
	struct plan_policy *policy;
	size_t programs, inputs, policies;
	unsigned repetitions;
	uint64_t seed;
	const char *timeout; /* of each run, as for -t; NULL: none; borrowed from json */
};

/* Bounds. Their product bounds the number of cells. */
#define PLAN_ITEMS_MAX 1000u
#define PLAN_REPETITIONS_MAX 100000u

/* Reads and checks a plan. 0, or -EINVAL with one message for each mistake. plan_release in both cases. */
int plan_load(const char *path, struct plan *ret_plan);
void plan_release(struct plan *plan);

#endif
