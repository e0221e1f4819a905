/* What the files of `callgate learn` share. */
#ifndef CALLGATE_CLI_LEARN_LEARN_H
#define CALLGATE_CLI_LEARN_LEARN_H

#include <jansson.h>
#include <stdbool.h>

#include "cli/learn/draft.h"
#include "cli/learn/fold.h"
#include "cli/learn/needs.h"
#include "cli/learn/packages.h"
#include "cli/load.h"
#include "cli/options.h"

struct learn {
	/* the command line */
	const char *output, *merge, *workdir_named, *profile, *fixed; /* fixed: --static */
	struct cli_list input, passed, env;
	unsigned runs;
	bool allow_risky, no_verify, json;
	char *const *program;
	/* what is made of it */
	char *workdir;      /* canonical host directory of -w; NULL: none; owned */
	const char *virt;   /* the name of the working directory in the runs */
	char *home;         /* of the user; owned; NULL: unknown */
	struct inodes *inodes; /* owned; NULL: not looked for yet */
	bool replaces;      /* -o is the policy of --merge */
	json_t *old;        /* the policy of --merge; owned; NULL: none */
	const char *base_profile; /* its name or file, which the policy extends; NULL: with --merge */
	char *base_path;    /* what `base_profile` borrows where that is a file; owned */
	char *dir;          /* of all runs; owned */
	char *draft_path;   /* where drafts are written to be judged; owned */
	unsigned next_run;
	struct needs needs;
	struct packages *packages; /* owned; NULL: not read yet */
	struct draft draft;
	json_t *own_refusals; /* array: what callgate refused in the learning runs, whatever the policy; owned */
	/* what came of it */
	json_t *result, *proof; /* of the last learning run and of the verification; owned; NULL: none */
	json_t *ends, *proof_ends; /* how the run of each input ended; arrays, owned */
	json_t *unmet;          /* array of what was asked for and is not granted, for no reason that is known; owned */
	json_t *bugs;           /* array of denials of the verification; owned */
	bool observed;          /* the verification only observes the policy: see learn_verify */
	unsigned rounds;        /* of the verification */
	size_t expected;        /* denials in its last round of what was left out, or refused by callgate itself */
};

/* ---- prepare.c ---- */

/* Reads and tries all that can be wrong before a run. 0 or -errno, with a message printed. */
int learn_prepare(struct learn *learn);

/* ---- rounds.c: each returns 0 or -errno, with a message printed ---- */

/* Makes the draft from runs of the program, and runs it under the draft unless --no-verify. */
int learn_from_runs(struct learn *learn);
/* Makes the draft from the program's file. */
int learn_from_executable(struct learn *learn);

/* ---- runs.c: each returns 0 or -errno, with a message printed ---- */

/* Writes the files that all runs need. */
int learn_prepare_runs(struct learn *learn);
/* Runs the program once for each input in observe mode and adds what it asked for. */
int learn_from_observed_runs(struct learn *learn);
/*
 * Runs the program under the policy that was learnt, and adds what it was denied. Sets proof, proof_ends and bugs. What
 * is written outside the copy of the working directory is kept apart by --dry-run or, where that cannot be, by
 * --mode observe, which performs what the policy denies and says so.
 */
int learn_verify(struct learn *learn);
/* True when a run of the verification ended otherwise than the learning run. */
bool learn_run_ends_differ(const struct learn *learn);

/* ---- judge.c ---- */

/* Judges each need by the draft. The array is owned by the caller. 0 or -errno, with a message printed. */
int learn_find_unmet(struct learn *learn, struct unmet **ret_unmet, size_t *ret_count);
/* Finds which endpoints, requests and ports the draft grants. 0 or -errno, with a message printed. */
int learn_mark_granted(struct learn *learn);
/* How many needs a policy that only extends this profile leaves. 0 or -errno. */
int learn_count_unmet(struct learn *learn, const char *profile, size_t *ret_count);
/*
 * Denies what is known to hold secrets and the draft grants all the same, unless the program asked for it and
 * --allow-risky is given. 0 or -errno, with a message printed.
 */
int learn_deny_secrets(struct learn *learn);
/* Numbers of files outside the working directory. */
struct learn_files {
	uint64_t granted;    /* the policy lets them be read */
	uint64_t granted_by_profile; /* of these, the profile alone does; 0 with --merge */
	uint64_t used;       /* of these, the program asked for them */
};

/* Counts them. 0 or -errno. */
int learn_count_files(struct learn *learn, struct learn_files *ret_files);

/* ---- endpoints.c ---- */

/* Adds rules for endpoints, requests and ports. risky: also for addresses that are not public. 0 or -ENOMEM. */
int learn_add_endpoints(struct draft *draft, const struct needs *needs, bool risky);

/* True for datagrams that a program does without, because it reaches the same endpoint by TCP. */
bool learn_is_needless_udp(const struct needs *needs, const char *host, unsigned port);

/* ---- static.c ---- */

/* Adds what a program's file says it needs: --static. 0 or -errno, with a message printed. */
int learn_inspect_program(struct needs *needs, const char *program);

/* ---- report.c ---- */

int learn_report(struct learn *learn);

#endif
