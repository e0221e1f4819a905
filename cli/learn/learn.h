/* Shared by the source files of `callgate learn`. */
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

/* The state of `callgate learn`. */
struct learn {
	/* values from the command line */
	const char *output, *merge, *workdir_named, *profile, *fixed; /* fixed: --static */
	struct cli_list input, passed, env;
	unsigned run_count; /* how often the program is run to learn */
	bool allow_risky, no_verify, json;
	char *const *program;
	/* computed values */
	char *workdir;         /* canonical host path of the value of -w; NULL: none; owned */
	const char *workdir_in_view; /* path of the working directory in the runs' view */
	char *home;            /* home directory of the user; owned; NULL: unknown */
	struct secret_inodes *inodes; /* secrets with several hard links; owned; NULL: not looked for yet */
	bool replaces_merged_policy; /* the value of -o is the policy of --merge, which is replaced */
	json_t *merged_policy;       /* the policy of --merge; owned; NULL: none */
	const char *base_profile; /* name or file of the profile that the policy extends; NULL: with --merge */
	char *base_profile_path;          /* absolute path of the profile, if base_profile is a file; owned */
	char *runs_dir;                   /* temporary directory, in which each run has its own directory; owned */
	char *draft_path;         /* path of the file to which drafts are written to be judged; owned */
	unsigned next_run_number; /* name of the next run's directory in runs_dir */
	struct needs needs;
	struct packages *packages; /* the packages of the distribution; owned; NULL: not read yet */
	struct draft draft;
	json_t *own_refusals; /* array of accesses that callgate itself refused in the learning runs; owned */
	json_t *result, *proof;    /* results of the last learning run and of the verification; owned; NULL: none */
	json_t *ends, *proof_ends; /* how the learning run and the verification of each input ended; arrays, owned */
	json_t *unmet_needs;       /* array of needs that the draft lacks although a rule may grant them; owned */
	json_t *wrong_denials;     /* array of the verification's denials that should not have happened; owned */
	bool verifies_by_observing;   /* the verification runs with --mode observe: see learn_verify */
	unsigned verification_rounds; /* how often the program was run under the learnt policy */
	/*
	 * number of expected denials in the last verification: of accesses that were left out, or that callgate always
	 * refuses
	 */
	size_t expected_denial_count;
};

/* ---- prepare.c ---- */

/*
 * Reads the earlier policy and the packages, and checks whatever can fail before a run. 0 or -errno, with a message
 * printed.
 */
int learn_prepare(struct learn *learn);

/* ---- rounds.c: each returns 0 or -errno, with a message printed ---- */

/* Makes the draft from runs of the program, and runs it under the draft unless --no-verify. */
int learn_from_runs(struct learn *learn);
/* Makes the draft from the program's file alone, which is not run: --static. */
int learn_from_executable(struct learn *learn);

/* ---- runs.c: each returns 0 or -errno, with a message printed ---- */

/* Writes the files that all runs need. */
int learn_prepare_runs(struct learn *learn);
/* Runs the program once for each input in observe mode, and adds its needs. */
int learn_from_observed_runs(struct learn *learn);
/*
 * Runs the program under the learnt policy, and adds what was denied to its needs. Sets proof, proof_ends and
 * wrong_denials. --dry-run keeps writes outside the copy of the working directory from the host. Where that is
 * impossible, the verification uses --mode observe, which performs denied calls and reports them.
 */
int learn_verify(struct learn *learn);
/* True when, for some input, the program ended in another way in the verification than in the learning run. */
bool learn_run_ends_differ(const struct learn *learn);

/* ---- judge.c ---- */

/* Judges each need by the draft. The array is owned by the caller. 0 or -errno, with a message printed. */
int learn_find_unmet_needs(struct learn *learn, struct unmet_need **ret_unmet, size_t *ret_count);
/*
 * Sets network_need.is_granted where the draft grants the endpoint, request or port. 0 or -errno, with a message
 * printed.
 */
int learn_mark_granted_endpoints(struct learn *learn);
/* Counts the needs that a policy which only extends this profile does not grant. 0 or -errno. */
int learn_count_unmet_needs(struct learn *learn, const char *profile, size_t *ret_count);
/*
 * Denies known secrets that the draft grants, except those that the program used if --allow-risky is given. 0 or
 * -errno, with a message printed.
 */
int learn_deny_secrets(struct learn *learn);
/* Numbers of files outside the working directory that a policy grants. */
struct learn_file_counts {
	uint64_t granted_file_count; /* files that the policy lets the program read */
	uint64_t granted_by_profile; /* granted files that the profile alone grants; 0 with --merge */
	uint64_t used_file_count;    /* granted files that the program used */
};

/* Counts the files that the policy grants. 0 or -errno. */
int learn_count_files(struct learn *learn, struct learn_file_counts *ret_files);

/* ---- endpoints.c ---- */

/* Adds rules for endpoints, requests and ports. risky: also for addresses that are not public. 0 or -ENOMEM. */
int learn_add_endpoints(struct draft *draft, const struct needs *needs, bool risky);

/* True when the program does not need to send datagrams to this host and port, because it also reaches them by TCP. */
bool learn_is_needless_udp(const struct needs *needs, const char *host, unsigned port);

/* ---- static.c ---- */

/* Adds the needs that a program's file shows: --static. 0 or -errno, with a message printed. */
int learn_inspect_program(struct needs *needs, const char *program);

/* ---- report.c ---- */

int learn_print_report(struct learn *learn);

#endif
