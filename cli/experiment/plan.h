/* An experiment's plan: programs × inputs × policies × repetitions. The file's format is in callgate(1). */
#ifndef CALLGATE_CLI_EXPERIMENT_PLAN_H
#define CALLGATE_CLI_EXPERIMENT_PLAN_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/options.h"

/* A program of a plan. */
struct plan_program {
	const char *name;
	struct cli_list command; /* the command line; may contain {input}, {stdin}, {seed} and {repetition} */
	char *workdir;           /* absolute path; NULL: an empty working directory */
};

/* An input of an experiment's plan. */
struct plan_input {
	const char *name; /* name of the input; "": the plan has no inputs */
	char *file;       /* absolute path of a file to copy into the working directory; NULL: none */
	char *stdin_file;   /* absolute path of a file for the standard input; NULL: it is empty */
};

/* A policy of an experiment's plan: a name and options of callgate run. */
struct plan_policy {
	const char *name;
	struct cli_list options; /* options of callgate run */
};

/* The plan of an experiment: each program runs with each input under each policy. */
struct plan {
	json_t *json; /* the parsed plan; owned; the names are borrowed from it */
	char *dir;    /* directory of the plan's file, to which paths in the plan are relative; owned */
	struct plan_program *programs;
	struct plan_input *inputs; /* at least one; without a file if the plan names no inputs */
	struct plan_policy *policies;
	size_t program_count, input_count, policy_count;
	unsigned repetitions; /* how often each combination is run */
	uint64_t seed;        /* "{seed}" of the first repetition; each further one gets the next number */
	const char *timeout; /* time limit of each run, as for -t; borrowed from json; NULL: none */
};

/* Maximum number of items in each list of a plan, and of repetitions. */
#define PLAN_ITEMS_MAX 1000u
#define PLAN_REPETITIONS_MAX 100000u

/* Reads and checks a plan. 0, or -EINVAL with one message for each mistake. plan_release releases it in both cases. */
int plan_load(const char *path, struct plan *ret_plan);
void plan_release(struct plan *plan);

#endif
